import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { exportTraces } from "#kernel/trace-exporter.ts";
import { modes } from "../../support/replay.ts";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver, untilStill } from "../../support/rollout/standstill.ts";
import {
  callerSpan,
  findOrphans,
  type OtlpReceiver,
  type ReceivedSpan,
  startOtlpReceiver,
  traceparentIn,
} from "../../support/servers/otlp-receiver.ts";
import { waitFor } from "../../support/wait-for.ts";

let traces = 0;
const newTrace = () => (++traces).toString(16).padStart(32, "a");

describe.each(modes)("the trace of a rollout, $mode", ({ alwaysReplay }) => {
  let receiver: OtlpReceiver;
  let bench: RolloutBench;
  let stopTracing: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url;
    stopTracing = exportTraces(process.env, createLog({ level: "silent", format: "json" }));
    bench = await startRolloutBench({ maxParallel: 4, alwaysReplay });
  });

  afterAll(async () => {
    await bench.stop();
    await stopTracing?.();
    delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
    await receiver.stop();
  });

  const rollOut = async (body: object, traceId: string) => {
    const traceparent = traceparentIn(traceId);
    await bench.call("Rollout", { image: imageV2, ...body }, { traceparent });
    await untilStill(bench);
  };

  const untilReceived = (traceId: string, isComplete: (spans: ReceivedSpan[]) => boolean) =>
    waitFor(
      async () => {
        const spans = receiver.trace(traceId);
        const messages = spans.filter(({ kind }) => kind === 4);
        const isSent = ({ spanId }: ReceivedSpan) =>
          spans.some((one) => one.parentSpanId === spanId);
        const isWhole = messages.every(isSent) && findOrphans(spans, callerSpan).length === 0;
        return isComplete(spans) && isWhole && spans;
      },
      { withinMs: 15_000, what: "the trace to be complete" },
    );

  it("goes from the caller's span through waves, batches, deploys and their rollback to messages", async () => {
    await startOver(bench);
    bench.fleet.behave((id, image) =>
      image === imageV2 ? failing(["s02"])(id) : { status: "ready" },
    );
    const traceId = newTrace();

    await rollOut({ wave_percentages: [50, 100], on_failure: "rollback" }, traceId);

    const spans = await untilReceived(traceId, hasMessage("rollback completed"));
    const only = (name: string) => spans.filter((span) => span.name === name);
    const [rollout, ...furtherRollouts] = only("rollout");
    const [rollback] = only("roll back rollout");
    const waves = only("wave");
    const batches = only("batch");
    const [failed] = spans.filter(({ attributes }) => attributes["error.type"] === "crash_loop");
    expect(furtherRollouts).toEqual([]);
    expect(rollout).toMatchObject({ parentSpanId: callerSpan, status: { code: 2 } });
    expect(rollback).toMatchObject({ parentSpanId: rollout?.spanId });
    expect(waves.map(({ parentSpanId }) => parentSpanId)).toEqual(waves.map(() => rollout?.spanId));
    expect(new Set(batches.map(({ parentSpanId }) => parentSpanId))).toEqual(
      new Set([...waves, rollback].map((span) => span?.spanId)),
    );
    expect(failed).toMatchObject({
      name: "deploy sentinel",
      attributes: { "vedette.sentinel.id": "s02", "deployment.status": "failed" },
    });
    for (const deploy of only("deploy sentinel")) {
      const calls = spans.filter(({ parentSpanId }) => parentSpanId === deploy.spanId);
      expect(calls.map(({ kind }) => kind)).toContain(3);
    }
    for (const message of only("send sentinel_rollout")) {
      const delivered = spans.filter(({ parentSpanId }) => parentSpanId === message.spanId);
      expect(delivered.map(({ name }) => name)).toContain("deliver sentinel_rollout");
    }
    expect(spans.every((span) => span.endTimeUnixNano >= span.startTimeUnixNano)).toBe(true);
    expect(rollout?.resource).toMatchObject({ "service.name": "vedette" });
  });

  it("of a caller without one has a root of its own", async () => {
    await startOver(bench);
    const before = receiver.spans.length;

    await bench.call("Rollout", { image: imageV2 });

    const root = await waitFor(
      async () => receiver.spans.slice(before).find(({ name }) => name === "rollout"),
      { withinMs: 15_000, what: "the span of the rollout" },
    );
    expect(root.parentSpanId ?? "").toBe("");
    expect(root.attributes).toMatchObject({ "deployment.status": "succeeded" });
  });

  it("is not recorded for a caller whose trace is not sampled", async () => {
    await startOver(bench);
    const traceparent = `00-${newTrace()}-${callerSpan}-00`;

    await bench.call("Rollout", { image: imageV2 }, { traceparent });

    expect(await bench.state("rolloutState")).not.toHaveProperty("trace");
  });
});

const hasMessage = (event: string) => (spans: ReceivedSpan[]) =>
  spans.some(({ attributes }) => attributes["vedette.rollout.event"] === event);
