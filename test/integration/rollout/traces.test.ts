import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OnDrift } from "#fleet/drift-contract.ts";
import { createLog } from "#kernel/log.ts";
import { exportTraces } from "#kernel/trace-exporter.ts";
import { modes } from "../../support/replay.ts";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
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
  let onDrift: OnDrift = "report";

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    process.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = receiver.url;
    stopTracing = exportTraces(process.env, createLog({ level: "silent", format: "json" }));
    bench = await startRolloutBench({ maxParallel: 4, alwaysReplay, onDrift: () => onDrift });
  });

  afterAll(async () => {
    await bench.stop();
    await stopTracing?.();
    delete process.env["OTEL_EXPORTER_OTLP_ENDPOINT"];
    await receiver.stop();
  });

  const rollOut = async (body: object, traceId: string) => {
    const traceparent = traceparentIn(traceId);
    const headers = { traceparent, tracestate: "rojo=1" };
    await bench.call("Rollout", { image: imageV2, ...body }, headers);
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
    expect(new Set(spans.map(({ traceState }) => traceState))).toEqual(new Set(["rojo=1"]));
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

  it("of the reconciler's rollout has a root of its own, and the deploys of what had drifted", async () => {
    await startOver(bench);
    const { body } = await bench.call("Rollout", { image: imageV2 });
    await untilStill(bench);
    bench.fleet.run("s02", imageV1);
    onDrift = "converge";

    const id = await waitFor(
      async () => {
        await bench.checkDrift();
        const { rollout_id: newest } = (await bench.call("Status")).body;
        return newest !== body["rollout_id"] && newest;
      },
      { withinMs: 20_000, what: "the sentinel to be brought back" },
    );
    onDrift = "report";
    const root = await waitFor(
      () =>
        receiver.spans.find(
          (span) => span.attributes["deployment.id"] === id && span.name === "rollout",
        ),
      { withinMs: 15_000, what: "the span of its rollout" },
    );
    const spans = await untilReceived(root.traceId, (all) =>
      all.some(({ name }) => name === "wave"),
    );
    const deploys = spans.filter(({ name }) => name === "deploy sentinel");
    expect(root.parentSpanId ?? "").toBe("");
    expect(deploys.map(({ attributes }) => attributes["vedette.sentinel.id"])).toEqual(["s02"]);
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
