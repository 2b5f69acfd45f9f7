/** A rollout that begins or is cancelled, killed at each of its steps. */
import { TerminalError } from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import { advance } from "#rollout/handlers/advance.ts";
import { begin, cancel, pause } from "#rollout/handlers/operations.ts";
import { recordCaller } from "#rollout/handlers/runs.ts";
import { storeBatches } from "#rollout/handlers/waves.ts";
import { emptyOutcome } from "#rollout/rules/outcome.ts";
import type { RolloutHead } from "#rollout/state.ts";
import { createContext, Killed } from "../support/rollout/killed-context.ts";
import { buildBatch, buildHead, buildWave, imageV2 } from "../support/rollout/rollout-builders.ts";

const request = {
  image: "registry.example.com/vedette/sentinel:v3",
  requestedImage: "registry.example.com/vedette/sentinel:v3",
  wavePercentages: [100],
  startedBy: "tester",
};

/** A cancelled rollout of two sentinels that both have the new image. */
function cancelledBefore(): Map<string, unknown> {
  const batch = buildBatch(["a", "b"]);
  const head = buildHead({
    state: "cancelled",
    image: imageV2,
    succeeded: 2,
    waves: [buildWave({ succeeded: 2 })],
  });
  return new Map<string, unknown>([
    ["rolloutState", head],
    ["batch:0", batch],
    ["outcome:0", { ...emptyOutcome(batch), marks: "ss" }],
  ]);
}

describe("begin", () => {
  it("keeps the sentinels to roll back until the next rollout is stored", async () => {
    const whole = createContext(cancelledBefore(), Number.POSITIVE_INFINITY);
    await begin(whole.ctx, request);

    for (let lives = 0; lives < whole.steps(); lives++) {
      const state = cancelledBefore();
      await expect(begin(createContext(state, lives).ctx, request)).rejects.toThrow(Killed);

      const { rolloutId } = state.get("rolloutState") as RolloutHead;
      const isKept = state.has("batch:0") && state.has("outcome:0");
      expect(rolloutId === "r-2" || isKept, `killed after ${lives} steps`).toBe(true);
    }
  });

  it("lets no outcome of the rollout before count for the next one, wherever it was killed", async () => {
    const state = cancelledBefore();
    state.set("rolloutState", buildHead({ rolloutId: "r-2", waves: [], captured: false }));

    const { ctx } = createContext(state, Number.POSITIVE_INFINITY);
    await storeBatches(ctx, { rolloutId: "r-2", first: 0, batches: [buildBatch(["a", "b"])] });

    expect(state.has("batch:0")).toBe(true);
    expect(state.has("outcome:0")).toBe(false);
  });
});

describe("cancel", () => {
  const runner = "inv_1gHzTMDQxYoF0LxtJFGV0JXWTbLkxWZkXd";
  const laterRunner = "inv_1kxejNuxmVDV0xbiAZK6HuB1pBkcTFUOlP";
  const caller = "inv_19VuwRj5ATQb63NFpUnIOqhEFRUDykGJfX";
  const running = () => {
    const batch = buildBatch(["a", "b"]);
    const head = buildHead({
      state: "in_progress",
      image: imageV2,
      runner,
      waves: [buildWave({})],
      openBatches: { 0: { invocation: runner, inFlight: 2, run: runner } },
    });
    return new Map<string, unknown>([
      ["rolloutState", head],
      ["batch:0", batch],
      ["outcome:0", { ...emptyOutcome(batch), open: true }],
    ]);
  };
  const orders = { stopRun: async () => {}, countOrdered: async () => 2 };
  const parts = { readActor: () => ({ by: "tester" }), orders };

  it("leaves no run that goes on for ever, wherever it was killed", async () => {
    const whole = createContext(running(), Number.POSITIVE_INFINITY);
    await cancel(whole.ctx, parts);
    const last = whole.steps() - 1;

    for (let lives = 0; lives <= last; lives++) {
      const state = running();
      const { ctx, signals } = createContext(state, lives);
      await expect(cancel(ctx, parts)).rejects.toThrow(Killed);

      // Its batches were told to stop, and the run asks when they have.
      const again = createContext(state, Number.POSITIVE_INFINITY);
      const next = await advance(again.ctx, { rolloutId: "r-1", runner, finishedWave: 0 }, orders);
      expect(signals.has("cancel"), `killed after ${lives} steps`).toBe(false);
      expect(next.action, `killed after ${lives} steps`).toBe("stop");
    }
  });

  it("tells the run what it answers once that is written, and so ends it", async () => {
    const state = running();
    const { ctx, signals } = createContext(state, Number.POSITIVE_INFINITY);

    const answer = await cancel(ctx, parts);

    expect(answer).toMatchObject({ state: "cancelled", in_flight: 2 });
    expect(signals.get("cancel")).toEqual(answer);
    expect(state.get("rolloutState")).toMatchObject({ state: "cancelled", orderedAtStop: 2 });
  });

  it("tells whoever waits for the run too, and nobody who waited for an earlier one", async () => {
    const told = async (noted: string) => {
      const state = running();
      const { ctx, told } = createContext(state, Number.POSITIVE_INFINITY);
      await recordCaller(ctx, { runner: noted, caller });
      await cancel(ctx, parts);
      return told.filter((one) => one.startsWith("cancel"));
    };

    expect(await told(runner)).toEqual([`cancel ${runner}`, `cancel ${caller}`]);
    expect(await told("inv_earlier")).toEqual([`cancel ${runner}`]);
  });

  it("does not tell whoever waited for the run before a Resume", async () => {
    const state = running();
    const { ctx, told } = createContext(state, Number.POSITIVE_INFINITY);
    await recordCaller(ctx, { runner, caller });
    const head = state.get("rolloutState") as RolloutHead;
    state.set("rolloutState", { ...head, runner: laterRunner });

    await cancel(ctx, parts);

    expect(told.filter((one) => one.startsWith("cancel"))).toEqual([`cancel ${laterRunner}`]);
  });

  it("has the run ask for the answer when the stop of the orders ends for good", async () => {
    const state = running();
    const { ctx, signals } = createContext(state, Number.POSITIVE_INFINITY);
    const ended = {
      ...orders,
      stopRun: () => Promise.reject(new TerminalError("ended by hand")),
    };

    await expect(cancel(ctx, { ...parts, orders: ended })).rejects.toThrow("ended by hand");

    expect(signals.get("cancel")).toBeNull();
    // Of the two deploys in flight one was ordered.
    const half = { ...orders, countOrdered: async () => 1 };
    const asked = { rolloutId: "r-1", runner, isStopped: true, finishedWave: 0 } as const;
    const next = await advance(ctx, asked, half);
    expect(next).toMatchObject({ action: "stop", status: { state: "cancelled", in_flight: 1 } });
    expect(state.get("rolloutState")).toMatchObject({ stoppedRun: runner, orderedAtStop: 1 });
  });

  it("does not end the run of a pause whose stop of the orders ends for good", async () => {
    const state = running();
    const { ctx, signals } = createContext(state, Number.POSITIVE_INFINITY);
    const ended = {
      ...orders,
      stopRun: () => Promise.reject(new TerminalError("ended by hand")),
    };

    await expect(pause(ctx, { ...parts, orders: ended })).rejects.toThrow("ended by hand");

    expect(signals.has("cancel")).toBe(false);
  });
});
