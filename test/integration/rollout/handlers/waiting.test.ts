/** A rollout that waits for what the one before it has left in flight. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RolloutStatus } from "#rollout/contract.ts";
import {
  type Answer,
  type RolloutBench,
  startRolloutBench,
} from "../../../support/rollout/rollout-bench.ts";
import { untilInFlight } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

let images = 0;
const next = () => ({
  image: `registry.example.com/vedette/sentinel:w${++images}`,
  wave_percentages: [100],
});

describe("a rollout after one with deploys in flight", { retry: 0 }, () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 4 });
  });

  afterAll(() => bench.stop());

  afterEach(async () => {
    bench.fleet.release();
    await bench.call("Cancel");
    await until("the rollout to stand still", ({ state }) => !/in_progress|rolling/.test(state));
    await waitFor(async () => (await progressing()) === 0, {
      withinMs: 30_000,
      what: "every deploy to end, also of a rollout that is not the current one",
    });
  });

  const progressing = async () => {
    const { rows } = await bench.database.query(
      "SELECT count(*)::int AS n FROM sentinels WHERE deploy_status = 'progressing'",
    );
    return rows[0].n as number;
  };

  const until = (what: string, holds: (status: RolloutStatus) => boolean) =>
    waitFor(
      async () => {
        const status = RolloutStatus.parse((await bench.call("Status")).body);
        return holds(status) && status;
      },
      { withinMs: 30_000, what },
    );

  /** A cancelled rollout of which four deploys never end until the fleet is released. */
  const leaveInFlight = async () => {
    const before = next();
    bench.fleet.hold();
    await bench.send("Rollout", before);
    await untilInFlight(bench, 4);
    await bench.call("Cancel");
    return before.image;
  };

  it("says what it waits for, and no longer once it continues", async () => {
    const image = await leaveInFlight();
    const rollout = bench.call("Rollout", next());

    const waiting = await until("a reason", ({ reason = "" }) => /until/.test(reason));
    bench.fleet.release();
    const { body: completed } = await rollout;

    expect(waiting).toMatchObject({ state: "in_progress", current_wave: 0, in_flight: 0 });
    expect(waiting.reason).toBe(
      `waits until the 4 deploys have ended that the rollout of ${image} left in flight`,
    );
    expect(completed).toMatchObject({ state: "completed", succeeded: 12 });
    expect(completed).not.toHaveProperty("reason");
    expect((await bench.call("Status")).body).not.toHaveProperty("reason");
  });

  it("says of a rollback too what it waits for", async () => {
    await leaveInFlight();
    await bench.send("RollbackAll");

    const { reason } = await until("a reason", (status) => /until/.test(status.reason ?? ""));

    expect(reason).toBe("waits until the 4 deploys in flight have ended");
  });

  it("is cancelled at once for its caller too", async () => {
    await leaveInFlight();
    let answer: Answer | undefined;
    void bench.call("Rollout", next()).then((one) => {
      answer = one;
    });
    await until("the wait", ({ state }) => state === "in_progress");

    await bench.call("Cancel");

    // The fleet is still held: nothing but the Cancel can have ended the call.
    const { body } = await waitFor(() => answer, { withinMs: 20_000, what: "the answer" });
    expect(body).toMatchObject({ state: "cancelled", total: 0, in_flight: 0 });
  });

  it("is cancelled at once for its caller while the fleet is listed, and the next one begins", async () => {
    bench.fleet.holdList();
    const asked = bench.call("Rollout", next());
    await until("the list", ({ reason = "" }) => reason === "waits for the fleet's list");

    await bench.call("Cancel");

    // The list is still held: nothing but the Cancel can have ended the call.
    const { body } = await asked;
    const following = bench.call("Rollout", next());
    bench.fleet.releaseList();
    expect(body).toMatchObject({ state: "cancelled", total: 0 });
    expect((await following).body).toMatchObject({ state: "completed", succeeded: 12 });
  });

  it("that is resumed and cancelled while it waits keeps what is in flight", async () => {
    bench.fleet.hold();
    await bench.send("Rollout", next());
    await untilInFlight(bench, 4);
    await bench.kill((await bench.state("rolloutState"))["runner"] ?? "");
    await until("the pause", ({ state }) => state === "paused");
    const resumed = bench.call("Resume");
    await until("a reason", ({ reason = "" }) => reason.startsWith("waits until the 4 deploys"));

    const { body: cancelled } = await bench.call("Cancel");

    // The fleet is still held: nothing has ended.
    const { body: answer } = await resumed;
    const { body: during } = await bench.call("Status");
    bench.fleet.release();
    const after = await untilInFlight(bench, 0);
    for (const body of [cancelled, answer, during]) {
      expect(body).toMatchObject({ state: "cancelled", succeeded: 0, in_flight: 4 });
    }
    expect(after).toMatchObject({ state: "cancelled", succeeded: 4, failed: 0 });
  });

  it("waits for the same after its runner was killed and someone resumed it", async () => {
    await leaveInFlight();
    const { image, ...waves } = next();
    await bench.send("Rollout", { image, ...waves });
    const { rollout_id } = await until("the wait", ({ state }) => state === "in_progress");
    const { runner = "" } = await bench.state("rolloutState");
    await bench.kill(runner);
    const paused = await until("the pause", ({ state }) => state === "paused");
    const resumed = bench.call("Resume");

    const waiting = await until("a reason", ({ state, reason }) => {
      return state === "in_progress" && reason?.startsWith("waits until") === true;
    });

    expect(paused.cause).toBe("run");
    expect(waiting).toMatchObject({ rollout_id, total: 0, current_wave: 0 });
    expect(waiting.reason).toContain("waits until the 4 deploys have ended");
    bench.fleet.release();
    expect((await resumed).body).toMatchObject({ state: "completed", image, succeeded: 12 });
  });
});
