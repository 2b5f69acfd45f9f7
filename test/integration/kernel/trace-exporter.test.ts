import { afterEach, beforeEach, expect, it } from "vitest";
import type { Log } from "#kernel/log.ts";
import { exportTraces } from "#kernel/trace-exporter.ts";
import { addSpan, deliverSpans, type Span, startTrace } from "#kernel/tracing.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/servers/otlp-receiver.ts";
import { waitFor } from "../../support/wait-for.ts";

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const unsampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";
const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01";
const span: Span = {
  ...{ trace, parent, name: "a", kind: "server", startMs: 1_000.5, endMs: 1_002 },
  ...{ attributes: { one: "1", two: 2, none: undefined }, error: "500" },
};

let receiver: OtlpReceiver;
let lines: string[];
let stop: (() => Promise<void>) | undefined;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
  process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url;
  process.env["OTEL_EXPORTER_OTLP_TIMEOUT"] = "500";
  lines = [];
});

afterEach(async () => {
  await stop?.();
  stop = undefined;
  delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  delete process.env["OTEL_EXPORTER_OTLP_TIMEOUT"];
  await receiver.stop();
});

const start = (environment: Record<string, string> = {}) => {
  const write = (...given: unknown[]) => void lines.push(`${given.at(-1)}`);
  stop = exportTraces({ ...process.env, ...environment }, { warn: write, info: write } as Log);
};

it("a span arrives with its ids, times, attributes and error", async () => {
  start();

  expect(await deliverSpans([span])).toBe(true);

  expect(receiver.spans).toMatchObject([
    {
      traceId: trace.slice(3, 35),
      spanId: trace.slice(36, 52),
      parentSpanId: parent.slice(36, 52),
      kind: 2,
      startTimeUnixNano: 1_000.5,
      endTimeUnixNano: 1_002,
      attributes: { one: "1", two: 2, "error.type": "500" },
      status: { code: 2 },
      resource: { "service.name": "vedette" },
    },
  ]);
  expect(receiver.spans[0]?.attributes).not.toHaveProperty("none");
});

it("a queued span arrives when the exporter stops", async () => {
  start({ OTEL_BSP_SCHEDULE_DELAY: "600000" });

  addSpan(span);
  await stop?.();

  expect(receiver.spans).toHaveLength(1);
});

it("a receiver that is away is logged once, delays nobody, and again once it is back", async () => {
  start();
  receiver.state.isAway = true;

  const startMs = performance.now();
  addSpan(span);
  const addedMs = performance.now() - startMs;
  const arrived = [await deliverSpans([span]), await deliverSpans([span])];
  receiver.state.isAway = false;
  await waitFor(() => deliverSpans([span]), { withinMs: 5_000, what: "the receiver to be back" });

  expect(arrived).toEqual([false, false]);
  expect(addedMs).toBeLessThan(100);
  expect(lines.slice(0, 2)).toEqual([
    "traces do not reach their receiver",
    "traces reach their receiver again",
  ]);
});

it("the sampler of the environment decides, by default the parent", () => {
  const sampled = (environment: Record<string, string>) => {
    start(environment);
    const given = [parent, unsampled, undefined];
    return given.map((traceparent) => startTrace({ traceparent }) !== undefined);
  };

  expect(sampled({})).toEqual([true, false, true]);
  expect(sampled({ OTEL_TRACES_SAMPLER: "always_off" })).toEqual([false, false, false]);
  expect(
    sampled({ OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }),
  ).toEqual([true, false, false]);
});
