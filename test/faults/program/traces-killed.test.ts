/** A rollout during which the program is killed: its trace is whole all the same. */
import { expect, it, onTestFinished } from "vitest";
import { startProgram } from "../../support/program/program.ts";
import { startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import {
  callerSpan,
  callTraced,
  findOrphans,
  startOtlpReceiver,
} from "../../support/servers/otlp-receiver.ts";
import { waitFor } from "../../support/wait-for.ts";

const within = (what: string) => ({ withinMs: 60_000, what });

it("the trace of a rollout has each parent once and no orphan, although the program was killed at any time", async () => {
  const receiver = await startOtlpReceiver();
  onTestFinished(receiver.stop);
  const fleet = await startFakeFleet({ size: 12, behave: () => ({ readyAfterMs: 300 }) });
  onTestFinished(fleet.stop);
  const program = await startProgram({
    ...fleet.environment(),
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
    VEDETTE_ROLLOUT__MAX_PARALLEL: "2",
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  });
  onTestFinished(() => program.dispose());

  for (const [round, killAtMs] of [150, 700, 1_500, 2_600].entries()) {
    const traceId = `${round + 1}`.padStart(32, "b");
    const body = { image: `${imageV2}.${round}`, wave_percentages: [30, 100] };
    expect(await callTraced(program, "Rollout/send", { traceId, body })).toBe(202);
    await new Promise((resolve) => setTimeout(resolve, killAtMs));
    program.kill9("main");
    await program.start();
    await waitFor(async () => {
      const { body } = await program.call("Status");
      return body["state"] === "completed" && body["image"] === `${imageV2}.${round}`;
    }, within("the rollout to complete"));

    const spans = await waitFor(() => {
      const all = receiver.trace(traceId);
      const isOver = all.some(({ name }) => name === "rollout");
      return isOver && findOrphans(all, callerSpan).length === 0 && all;
    }, within("the trace to be whole"));
    const counts = Object.groupBy(spans, ({ name }) => name);
    expect([counts["rollout"]?.length, counts["wave"]?.length]).toEqual([1, 2]);
    expect(counts["batch"]).toHaveLength(2);
    expect(counts["deploy sentinel"]).toHaveLength(12);
  }
}, 400_000);
