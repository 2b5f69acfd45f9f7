import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { RollbackResult, RolloutPlan, RolloutStatus } from "#rollout/contract.ts";
import type { SlackMessage } from "../../support/alerts/fake-chat.ts";
import { modes } from "../../support/replay.ts";
import { failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight, untilStill } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };

describe.each(modes)("rollout operations, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ maxParallel: 4, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  it("is idle before the first rollout, with nothing to resume, cancel or roll back", async () => {
    const { body } = await bench.call("Status");

    const refused = await Promise.all(
      (["Resume", "Cancel", "RollbackAll"] as const).map((handler) => bench.call(handler)),
    );

    expect(RolloutStatus.parse(body)).toMatchObject({ state: "idle", rollout_id: null, total: 0 });
    expect(refused.map(({ status }) => status)).toEqual([409, 409, 409]);
    expect(refused[0]?.body["message"]).toContain("legal now: Rollout");
  });

  it("brings every sentinel to the new image, wave by wave", async () => {
    const { status, body } = await bench.call("Rollout", { image: imageV2 });

    expect(status).toBe(200);
    expect(RolloutStatus.strict().parse(body)).toMatchObject({
      state: "completed",
      image: imageV2,
      current_wave: 4,
      total_waves: 4,
      total: 12,
      succeeded: 12,
      failed: 0,
      in_flight: 0,
      failed_sentinels: [],
    });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV2]));
  });

  const deploys =
    "SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.SentinelService'";

  it("needs no invocation for a deploy that ends at once", async () => {
    const [before, ordered] = [bench.ownSteps(), bench.fleet.applied.length];

    const { body } = await bench.call("Rollout", { image: imageV2 });

    expect(body).toMatchObject({ state: "completed", succeeded: 12 });
    expect(bench.ownSteps()).toBe(before);
    expect(bench.fleet.applied).toHaveLength(ordered + 12);
  });

  it("orders a sentinel once whose deploy takes its time", async () => {
    const [before, ordered] = [bench.ownSteps(), bench.fleet.applied.length];
    bench.fleet.hold();
    await bench.send("Rollout", { image: imageV2, wave_percentages: [100] });
    await untilInFlight(bench, 4);
    await waitFor(async () => (await bench.query(deploys)).length === 4, {
      withinMs: 10_000,
      what: "invocations that follow the deploys",
    });

    bench.fleet.release();

    expect(await untilStill(bench)).toMatchObject({ state: "completed", succeeded: 12 });
    expect(bench.fleet.applied).toHaveLength(ordered + 12);
    expect(bench.ownSteps()).toBeGreaterThan(before);
  });

  it("shows what a quick group has done while the next ones take their time", async () => {
    const before = bench.fleet.applied.length;
    bench.fleet.behave(() => {
      if (bench.fleet.applied.length - before > 4) bench.fleet.hold();
      return { status: "ready" };
    });
    await bench.send("Rollout", { image: imageV2, wave_percentages: [100] });

    const { succeeded } = await untilInFlight(bench, 4);
    await waitFor(async () => (await bench.call("Status")).body["succeeded"] === 4, {
      withinMs: 10_000,
      what: "the first four to be counted",
    });

    bench.fleet.behave(() => ({ status: "ready" }));
    bench.fleet.release();
    expect(succeeded).toBeLessThanOrEqual(4);
    expect(await untilStill(bench)).toMatchObject({ state: "completed", succeeded: 12 });
  });

  it("leaves out sentinels that run the image already, and completes at once without any", async () => {
    await bench.call("Rollout", { image: imageV2 });

    const { body } = await bench.call("Rollout", { image: imageV2 });

    expect(body).toMatchObject({ state: "completed", total: 0, total_waves: 0 });
  });

  it("never has more deploys in flight than the bound", async () => {
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

    expect(bench.fleet.maxInFlight()).toBeLessThanOrEqual(4);
  });

  it("runs exactly the waves that Plan shows", async () => {
    const plan = RolloutPlan.parse((await bench.call("Plan", halves)).body);
    const before = bench.fleet.applied.length;

    await bench.call("Rollout", halves);

    const order = bench.fleet.applied.slice(before).map(({ id }) => id);
    expect(plan.waves.map(({ size }) => size)).toEqual([6, 6]);
    expect(order.slice(0, 6).sort()).toEqual(plan.waves[0]?.sentinels.toSorted());
  });

  it("pauses after a wave with a failed deploy, and finishes that wave first", async () => {
    const plan = RolloutPlan.parse((await bench.call("Plan", halves)).body);
    const [victim = ""] = plan.waves[0]?.sentinels ?? [];
    bench.fleet.behave(failing([victim]));

    const { status, body } = await bench.call("Rollout", halves);

    expect(status).toBe(200);
    expect(body).toMatchObject({
      state: "paused",
      current_wave: 1,
      succeeded: 5,
      failed: 1,
      failed_sentinels: [{ id: victim, reason: "crash_loop: exit code 1" }],
    });
  });

  it("resumes with the next wave and does not try failed sentinels again", async () => {
    const plan = RolloutPlan.parse((await bench.call("Plan", halves)).body);
    const [victim = ""] = plan.waves[0]?.sentinels ?? [];
    bench.fleet.behave(failing([victim]));
    await bench.call("Rollout", halves);
    bench.fleet.behave(() => ({ status: "ready" }));

    const { body } = await bench.call("Resume");

    expect(body).toMatchObject({ state: "completed", succeeded: 11, failed: 1 });
    expect(bench.fleet.running().get(victim)).toBe(imageV1);
  });

  it("completes on Resume when the failed wave was the last one", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

    const { body } = await bench.call("Resume");

    expect(body).toMatchObject({ state: "completed", succeeded: 11, failed: 1 });
  });

  it("refuses what is not legal while paused, and changes nothing", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    const before = await bench.call("Status");
    // The fleet is listed once more after a pause.
    const isListed = async () => {
      before.body = (await bench.call("Status")).body;
      return JSON.stringify(before.body["standing"]).includes("still serves");
    };
    await waitFor(isListed, { withinMs: 10_000, what: "the failed sentinel's image" });

    const refused = await bench.call("Rollout", { image: imageV2 });

    expect(refused.status).toBe(409);
    expect(refused.body["message"]).toContain("legal now: Resume, Cancel, RollbackAll");
    expect((await bench.call("Status")).body).toEqual(before.body);
  });

  it("knows what failed sentinels run once their fleet answers again, and a rollback says so", async () => {
    bench.fleet.behave((id) => {
      bench.fleet.away(true);
      return failing(["s01"], "deploy_timeout")(id);
    });
    const { body } = await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    expect(JSON.stringify(body["standing"])).toContain("1 failed, and whether it serves");
    bench.fleet.behave(failing(["s01"]));
    bench.fleet.run("s01", imageV2);
    bench.fleet.away(false);
    const isKnown = async () =>
      JSON.stringify((await bench.call("Status")).body["standing"]).includes("1 failed and serves");
    await waitFor(isKnown, { withinMs: 10_000, what: "the image that s01 runs" });

    const rolledBack = await bench.call("RollbackAll");

    const { standing } = RollbackResult.parse(rolledBack.body);
    expect(standing).toMatchObject([{ brief: "1 failed and serves v2", failed_on_image: 1 }]);
  });

  it("puts the previous images back and counts the reverted", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

    const { body } = await bench.call("RollbackAll");

    expect(RollbackResult.parse(body)).toMatchObject({
      state: "cancelled",
      reverted: 11,
      not_reverted: [],
      succeeded: 0,
      failed: 1,
    });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("lists sentinels that did not revert, and takes just those the next time", async () => {
    bench.fleet.behave(failing(["s01"]));
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    bench.fleet.behave(failing(["s02"], "unreachable: reset"));
    const first = await bench.call("RollbackAll");
    bench.fleet.behave(() => ({ status: "ready" }));

    const second = await bench.call("RollbackAll");

    expect(first.body).toMatchObject({
      reverted: 10,
      not_reverted: [{ id: "s02", reason: "unreachable: reset" }],
      succeeded: 1,
    });
    expect(second.body).toMatchObject({ reverted: 1, not_reverted: [], succeeded: 0 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("cancels while deploys are in flight, lets those finish, and records them", async () => {
    bench.fleet.hold();
    const rollout = bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    await untilInFlight(bench, 4);

    const cancelled = await bench.call("Cancel");

    // Both answered although nothing has moved since. How quickly is measured in bench/cancel.ts.
    const { body } = await rollout;
    const applied = bench.fleet.applied.length;
    bench.fleet.release();
    const after = await untilStill(bench);
    expect(cancelled.body).toMatchObject({ state: "cancelled", in_flight: 4 });
    expect(body).toMatchObject({ state: "cancelled", succeeded: 0, in_flight: 4 });
    expect(after).toMatchObject({ state: "cancelled", succeeded: 4, in_flight: 0 });
    expect(bench.fleet.applied.length).toBe(applied);
  });

  const statusOfInvocation = async (id: string) => {
    const [found] = await bench.query(`SELECT status FROM sys_invocation WHERE id = '${id}'`);
    return found?.["status"];
  };

  /** Until the test is over. A run that has gone to sleep, as all do that are always replayed, cannot be paused. */
  const pauseInvocation = async (id: string) => {
    const order = (what: "pause" | "resume") =>
      fetch(`${bench.restate.adminUrl}/invocations/${id}/${what}`, { method: "PATCH" });
    onTestFinished(async () => void (await order("resume")));
    expect((await order("pause")).ok).toBe(true);
    await waitFor(async () => (await statusOfInvocation(id)) === "paused", {
      withinMs: 10_000,
      what: "the invocation to be paused",
    });
  };

  it.skipIf(alwaysReplay)(
    "answers whoever waits for a run that is cancelled, although the run says nothing",
    async () => {
      bench.fleet.hold();
      const rollout = bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
      await untilInFlight(bench, 4);
      const { runner = "" } = await waitFor(
        async () => {
          const head = await bench.state("rolloutState");
          return head["caller"] !== undefined && head;
        },
        { withinMs: 10_000, what: "the caller to be noted" },
      );
      await pauseInvocation(runner);

      const cancelled = await bench.call("Cancel");

      expect((await rollout).body).toEqual(cancelled.body);
      expect(cancelled.body).toMatchObject({ state: "cancelled", in_flight: 4 });
      expect(await statusOfInvocation(runner)).toBe("paused");
    },
  );

  it("refuses another Rollout and Resume while one is in progress", async () => {
    bench.fleet.hold();
    const rollout = bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    await untilInFlight(bench, 4);

    const answers = await Promise.all(
      (["Rollout", "Resume", "RollbackAll"] as const).map((handler) =>
        bench.call(handler, handler === "Rollout" ? { image: imageV2 } : {}),
      ),
    );

    bench.fleet.release();
    await rollout;
    expect(answers.map(({ status }) => status)).toEqual([409, 409, 409]);
    expect(answers[0]?.body["message"]).toContain("state in_progress; legal now: Cancel");
  });

  it("rolls back from cancelled only after what is in flight has finished", async () => {
    bench.fleet.hold();
    const rollout = bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    await untilInFlight(bench, 4);
    await bench.call("Cancel");

    const rollback = bench.call("RollbackAll");
    const during = await waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body.state === "rolling_back" && body;
      },
      { withinMs: 5_000, what: "the rollback to begin" },
    );
    const refused = await bench.call("Cancel");
    bench.fleet.release();

    expect(during["in_flight"]).toBe(4);
    expect(refused.status).toBe(409);
    expect((await rollout).body).toMatchObject({ state: "cancelled" });
    expect((await rollback).body).toMatchObject({ state: "cancelled", reverted: 4 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV1]));
  });

  it("starts the next rollout from cancelled only after what is in flight has finished", async () => {
    const imageV3 = "registry.example.com/vedette/sentinel:v3";
    bench.fleet.hold();
    const first = bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    await untilInFlight(bench, 4);
    await bench.call("Cancel");
    const applied = bench.fleet.applied.length;

    const second = bench.call("Rollout", { image: imageV3, wave_percentages: [100] });
    await waitFor(async () => (await bench.call("Status")).body["image"] === imageV3, {
      withinMs: 5_000,
      what: "the second rollout to begin",
    });
    const appliedMeanwhile = bench.fleet.applied.length;
    bench.fleet.release();

    expect(appliedMeanwhile).toBe(applied);
    expect((await first).body).toMatchObject({ state: "cancelled", image: imageV2 });
    expect((await second).body).toMatchObject({ state: "completed", total: 12, succeeded: 12 });
    expect(new Set(bench.fleet.running().values())).toEqual(new Set([imageV3]));
  });

  it("lets one of 100 simultaneous rollouts run and refuses 99", async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => bench.call("Rollout", halves)),
    );

    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(99);
  });

  it("answers a send at once with the invocation", async () => {
    const before = (await bench.call("Status")).body["rollout_id"];

    const { status, body } = await bench.send("Rollout", halves);

    expect(status).toBe(202);
    expect(body["invocationId"]).toMatch(/^inv_/);
    const isDone = async () => {
      const { state, rollout_id } = (await bench.call("Status")).body;
      return state === "completed" && rollout_id !== before;
    };
    await waitFor(isDone, { withinMs: 10_000, what: "the sent rollout to complete" });
  });

  it("keeps every rollout in history with who, what and outcome per sentinel", async () => {
    bench.fleet.behave(failing(["s03"], "oom_killed"));
    const { body } = await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

    const rows = await waitFor(
      async () => {
        const query =
          "SELECT outcome, count(*)::int FROM rollout_sentinels WHERE rollout_id = $1 GROUP BY 1 ORDER BY 1";
        const found = await bench.database.query(query, [body["rollout_id"]]);
        return (
          found.rows.length === 2 && found.rows.every((row) => row.outcome !== null) && found.rows
        );
      },
      { withinMs: 5_000, what: "history" },
    );
    // It is written after the answer, and its rows one after the other.
    const history = await waitFor(
      async () => {
        const answer = await bench.call("History", { limit: 1 });
        const [latest] = answer.body["rollouts"] as Record<string, unknown>[];
        return latest?.["state"] !== "in_progress" && latest;
      },
      { withinMs: 5_000, what: "the end in history" },
    );

    expect(rows).toEqual([
      { outcome: "failed", count: 1 },
      { outcome: "succeeded", count: 11 },
    ]);
    expect(history).toMatchObject({
      rollout_id: body["rollout_id"],
      state: "paused",
      succeeded: 11,
      failed: 1,
    });
  });

  it("does not call a rollout rolled back of which nothing was reverted", async () => {
    bench.fleet.behave((_, image) =>
      image === imageV2 ? { status: "failed", reason: "crash_loop" } : { status: "ready" },
    );
    await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });

    const untouched = (await bench.call("RollbackAll")).body;
    const restored = (await bench.call("RollbackAll", { include_failed: true })).body;

    expect(untouched).toMatchObject({
      state: "cancelled",
      outcome: "cancelled",
      reverted: 0,
      not_reverted: [],
      still_ordered_count: 12,
    });
    expect(restored).toMatchObject({ outcome: "rolled_back", reverted: 12 });
  });

  it("sends a message for every transition, in order", async () => {
    bench.fleet.behave(failing(["s01"]));
    const { body } = await bench.call("Rollout", { image: imageV2, wave_percentages: [100] });
    await bench.call("RollbackAll");
    const rolloutId = String(body["rollout_id"]);

    const messages = await waitFor(
      () => {
        const ours = bench.chat.messages.filter(({ metadata }) =>
          metadata.event_payload.id.startsWith(rolloutId),
        );
        return ours.length >= 5 && ours;
      },
      { withinMs: 5_000, what: "five messages" },
    );

    expect(messages.map(({ blocks }) => headerOf(blocks))).toEqual([
      "Rollout started",
      "Wave started",
      "Rollout paused",
      "Rollback started",
      "Rollback completed",
    ]);
    expect(bench.chat.faults).toEqual([]);
  });
});

/** The title of a message without the mark before it. */
function headerOf(blocks: SlackMessage["blocks"]): string {
  const header = blocks.find((block) => block.type === "header");
  return header?.text.text.replace(/^\S+ /, "") ?? "";
}
