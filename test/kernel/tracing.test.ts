import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import {
  addSpan,
  childOf,
  inTrace,
  isTracingWanted,
  readTraceparent,
  type Span,
  seedTrace,
  setExporter,
  startTrace,
  traceCall,
  traceFields,
  traceRequest,
} from "#kernel/tracing.ts";

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

function record(samples = true): Span[] {
  const spans: Span[] = [];
  setExporter({
    samples: () => samples,
    add: (span) => void spans.push(span),
    flush: () => {},
    deliver: async () => true,
  });
  return spans;
}

afterEach(() => setExporter(undefined));

describe("traces that are off", () => {
  it("start with no endpoint, when the SDK is disabled, or without an exporter", () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318" };

    const wanted = [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
      { ...endpoint, OTEL_SDK_DISABLED: "true" },
      { ...endpoint, OTEL_TRACES_EXPORTER: "none" },
      endpoint,
    ].map(isTracingWanted);

    expect(wanted).toEqual([false, false, false, false, true]);
  });

  it("load nothing: one file imports OpenTelemetry, and that only once it is wanted", () => {
    const files = readdirSync("src", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => ({ file, text: readFileSync(`src/${file}`, "utf8") }));

    const importing = files.filter(({ text }) => text.includes('from "@opentelemetry/'));
    const bound = files.filter(({ text }) => /from "[^"]*trace-exporter\.ts"/.test(text));

    expect(importing.map(({ file }) => file)).toEqual(["kernel/trace-exporter.ts"]);
    expect(bound).toEqual([]);
  });

  it("make no trace and no span, and send no header", async () => {
    const sent = await inTrace(startTrace(parent)?.trace, () =>
      traceRequest({ address: "http://127.0.0.1/" }, async (headers) => ({
        statusCode: 200,
        headers,
      })),
    );

    expect([startTrace(parent), seedTrace("a")]).toEqual([undefined, undefined]);
    expect(sent.headers).toEqual({});
  });
});

describe("a trace", () => {
  it("continues that of a valid header, and starts anew for any other", () => {
    record();

    const begun = [parent, "00-zz-1-01", ["a"], undefined].map(startTrace);

    expect(begun[0]?.trace).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[\da-f]{16}-01$/);
    expect(begun.map((one) => one?.parent)).toEqual([parent, undefined, undefined, undefined]);
    expect(readTraceparent(`00-${"0".repeat(32)}-00f067aa0ba902b7-01`)).toBeUndefined();
  });

  it("is not started if it is not sampled", () => {
    record(false);

    expect([startTrace(parent), seedTrace("a")]).toEqual([undefined, undefined]);
  });

  it("derives the same child from the same names, and another one from others", () => {
    expect(childOf(parent, "deploy", 1)).toBe(childOf(parent, "deploy", 1));
    expect(childOf(parent, "deploy", 1)).not.toBe(childOf(parent, "deploy", 2));
    expect(readTraceparent(childOf(parent, "deploy", 1))).toBeDefined();
  });

  it("gives its ids to log lines while its work lasts, and not to what that leaves behind", async () => {
    record();
    let later: Promise<object> = Promise.resolve({});

    const within = await inTrace(parent, async () => {
      later = new Promise((resolve) => setTimeout(() => resolve(traceFields()), 5));
      return traceFields();
    });

    expect(within).toEqual({
      trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
      span_id: "00f067aa0ba902b7",
    });
    expect(await later).toEqual({});
  });
});

describe("a request within a trace", () => {
  it("is a span without path, query or credentials, whose header the other side gets", async () => {
    const spans = record();
    const address = "https://user:word@hooks.example.com:8443/secret/path?key=1";

    const { traceparent } = await inTrace(parent, () =>
      traceRequest({ address, method: "POST" }, async (headers) => ({
        statusCode: 503,
        ...headers,
      })),
    );

    expect(spans).toMatchObject([
      {
        trace: traceparent,
        parent,
        name: "POST",
        kind: "client",
        error: "503",
        attributes: {
          "http.request.method": "POST",
          "http.response.status_code": 503,
          "server.address": "hooks.example.com",
          "server.port": 8443,
          "url.full": "https://hooks.example.com:8443/REDACTED",
        },
      },
    ]);
  });

  it("that fails has the code of its error, and not its words", async () => {
    const spans = record();
    const refused = Object.assign(new Error("secret words"), { code: "ECONNREFUSED" });

    const failing = inTrace(parent, () =>
      traceRequest({ address: "http://127.0.0.1:1/" }, () => Promise.reject(refused)),
    );

    await expect(failing).rejects.toThrow("secret words");
    expect(spans).toMatchObject([{ error: "ECONNREFUSED" }]);
    expect(JSON.stringify(spans)).not.toContain("secret words");
  });

  it("stands for the call that made it; a call without one has a span of its own", async () => {
    const spans = record();
    const call = { name: "apply sentinel", attributes: {} };
    const request = () =>
      traceRequest({ address: "http://127.0.0.1/" }, async () => ({ statusCode: 200 }));

    await inTrace(parent, () => traceCall(call, request));
    await inTrace(parent, () => traceCall(call, async () => {}));

    expect(spans.map(({ name }) => name)).toEqual(["GET", "apply sentinel"]);
  });
});

it("a span is dropped once there is no exporter any more", () => {
  const spans = record();
  setExporter(undefined);

  addSpan({ trace: parent, name: "a", kind: "internal", startMs: 0, endMs: 1, attributes: {} });

  expect(spans).toEqual([]);
});
