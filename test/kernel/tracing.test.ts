import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import {
  addSpan,
  childOf,
  inTrace,
  isTracingWanted,
  readTrace,
  type Span,
  seedTrace,
  setExporter,
  startTrace,
  traceCall,
  traceFields,
  traceRequest,
} from "#kernel/tracing.ts";

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const ofCaller = { traceparent: parent };

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
    const sent = await inTrace(startTrace(ofCaller)?.trace, () =>
      traceRequest({ address: "http://127.0.0.1/" }, async (headers) => ({
        statusCode: 200,
        headers,
      })),
    );

    expect([startTrace(ofCaller), seedTrace("a")]).toEqual([undefined, undefined]);
    expect(sent.headers).toEqual({});
  });
});

describe("a trace", () => {
  it("continues that of a valid header, and starts anew for any other", () => {
    record();

    const given = [parent, "00-zz-1-01", ["a"], undefined];
    const begun = given.map((traceparent) => startTrace({ traceparent }));

    expect(begun[0]?.trace).toMatch(/^00-4bf92f3577b34da6a3ce929d0e0e4736-[\da-f]{16}-01$/);
    expect(begun.map((one) => one?.parent)).toEqual([parent, undefined, undefined, undefined]);
    const ofZeros = { traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` };
    expect(readTrace(ofZeros)).toBeUndefined();
  });

  it("is not started if it is not sampled", () => {
    record(false);

    expect([startTrace(ofCaller), seedTrace("a")]).toEqual([undefined, undefined]);
  });

  it("derives the same child from the same names, and another one from others", () => {
    expect(childOf(parent, "deploy", 1)).toBe(childOf(parent, "deploy", 1));
    expect(childOf(parent, "deploy", 1)).not.toBe(childOf(parent, "deploy", 2));
    expect(readTrace({ traceparent: childOf(parent, "deploy", 1) })).toBeDefined();
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

describe("the tracestate of a caller", () => {
  const members = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=v`).join();
  const stateOf = (tracestate: unknown) => readTrace({ ...ofCaller, tracestate })?.slice(56);

  it("is that of the span, of its descendants, and of their requests", async () => {
    record();
    const begun = startTrace({ ...ofCaller, tracestate: "rojo=00f067, a@b=t61" });
    const deploy = childOf(begun?.trace ?? "", "deploy", 1);

    const { traceparent, tracestate } = await inTrace(deploy, () =>
      traceRequest({ address: "http://127.0.0.1/" }, async (headers) => ({
        statusCode: 200,
        ...headers,
      })),
    );

    expect(begun?.parent).toBe(`${parent} rojo=00f067, a@b=t61`);
    expect(tracestate).toBe("rojo=00f067, a@b=t61");
    expect(readTrace({ traceparent })).toBe(traceparent);
  });

  it.each([
    ["32 members", members(32), members(32)],
    ["empty members", "a=1,, b=2 ,", "a=1,, b=2 ,"],
    ["33 members", members(33), ""],
    [
      "more than 512 characters",
      `a=${"v".repeat(200)},b=${"v".repeat(200)},c=${"v".repeat(200)}`,
      "",
    ],
    ["a key with capitals", "Rojo=1", ""],
    ["no value", "rojo", ""],
    ["a line break", "a=1\r\nx: y", ""],
    ["a list of headers", ["a=1"], ""],
  ])("with %s is taken whole or left out", (_, given, taken) => {
    expect(stateOf(given)).toBe(taken);
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
