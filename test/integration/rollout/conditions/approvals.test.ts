/** Rollouts whose waves operators have to approve. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { unknownAccount } from "#kernel/actor.ts";
import { RolloutPlan, RolloutStatus } from "#rollout/contract.ts";
import { windowsName } from "#rollout/windows/contract.ts";
import { modes } from "../../../support/replay.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight, untilWaitingFor } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100], approvals: "after_first" };
const freeze = { id: "year-end", kind: "freeze", reason: "nobody is here" };

describe.each(modes)("a rollout with approvals, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 4, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(() => startOver(bench));

  const status = async () => RolloutStatus.parse((await bench.call("Status")).body);

  const untilWaiting = () => untilWaitingFor(bench, "approval");

  const titles = () => bench.chat.messages.map(({ text }) => text);

  it("waits after its first wave, and goes on once another operator has approved the next", async () => {
    const started = bench.callAs("ada", "Rollout", halves);
    const waiting = await untilWaiting();
    await waitFor(() => titles().some((title) => title.includes("Rollout waits")), {
      withinMs: 10_000,
      what: "the message that it waits",
    });

    const answer = await bench.callAs("ben", "Approve", { reason: "the canaries are fine" });
    const { body } = await started;

    expect(waiting).toMatchObject({ state: "in_progress", current_wave: 1, succeeded: 2 });
    expect(waiting.reason).toBe("waits until an operator other than ada approves wave 2");
    const approval = { wave: 2, by: "ben", reason: "the canaries are fine" };
    expect(answer).toMatchObject({
      status: 200,
      body: { waiting_for: null, approved: [approval] },
    });
    expect(body).toMatchObject({ state: "completed", succeeded: 4, approved: [approval] });
    const { rows } = await bench.database.query(
      "SELECT event, actor, message->'lines' AS lines FROM rollout_messages WHERE rollout_id = $1 AND event = 'approved'",
      [body["rollout_id"]],
    );
    expect(rows).toEqual([
      { event: "approved", actor: "ben", lines: ["ben approved wave 2: the canaries are fine."] },
    ]);
  });

  it("of a CI job is not approved by another job of its repository, and history has its run", async () => {
    const ciRun = {
      repository: "acme/shop",
      workflow: "rollout.yml",
      run: "42",
      commit: "1a2b3c4d",
    };
    const job = { actor: "ci:github:acme/shop", accounts: ["row:ci-1"], ciRun };
    const started = bench.callAsPerson(job, "Rollout", halves);
    await untilWaiting();

    const refused = await bench.callAsPerson({ ...job, actor: "ci:approvals" }, "Approve");
    await bench.callAs("ben", "Approve");
    await started;
    const { body } = await bench.call("History", { limit: 1 });

    expect(refused.status).toBe(403);
    expect(body["rollouts"]).toMatchObject([{ started_by: "ci:github:acme/shop", ci_run: ciRun }]);
    const { rows } = await bench.database.query(
      "SELECT message->'lines'->>0 AS line FROM rollout_messages WHERE event = 'rollout started' ORDER BY at DESC LIMIT 1",
    );
    expect(rows[0]?.line).toContain(
      "started by ci:github:acme/shop (run 42 of rollout.yml, commit 1a2b3c4).",
    );
  });

  it.each([
    ["ada", "ada has started this rollout"],
    ["ingress-token", "not as ingress-token"],
    [undefined, "not as local-caller"],
  ])("is not approved by %s", async (actor, words) => {
    const started = bench.callAs("ada", "Rollout", halves);
    await untilWaiting();

    const refused = await (actor === undefined
      ? bench.call("Approve")
      : bench.callAs(actor, "Approve"));
    const after = await status();
    await bench.callAs("ben", "Approve");

    expect(refused.status).toBe(403);
    expect(refused.body["message"]).toContain(words);
    expect(after.waiting_for).toBe("approval");
    expect((await started).body.state).toBe("completed");
  });

  it("is not approved by its starter under another name of the same account", async () => {
    const starter = { actor: "ada.old@example.com", accounts: ["account-1"] };
    const started = bench.callAsPerson(starter, "Rollout", halves);
    await untilWaiting();

    const own = { actor: "ada", accounts: ["account-0", "account-1"] };
    const refused = await bench.callAsPerson(own, "Approve");
    const after = await status();
    const other = { actor: "ben", accounts: ["account-2"] };
    const approved = await bench.callAsPerson(other, "Approve");

    expect([refused.status, after.waiting_for, approved.status]).toEqual([403, "approval", 200]);
    expect(refused.body["message"]).toContain("ada has started this rollout, as ada.old@example");
    expect((await started).body.state).toBe("completed");
  });

  const known = { actor: "ada.old@example.com", accounts: ["account-1"] };
  const unknown = { actor: "ada", accounts: [unknownAccount] };

  it.each([
    ["a token started it", unknown, known],
    ["a token approves it", known, unknown],
  ])(
    "is not approved by an account while nobody knows that of a token, where %s",
    async (_, starter, approver) => {
      const started = bench.callAsPerson(starter, "Rollout", halves);
      await untilWaiting();

      const refused = await bench.callAsPerson(approver, "Approve");
      const after = await status();
      const other = await bench.callAs("ben", "Approve");

      expect([refused.status, after.waiting_for, other.status]).toEqual([403, "approval", 200]);
      expect(refused.body["message"]).toContain("Postgres did not answer");
      expect((await started).body.state).toBe("completed");
    },
  );

  it("is approved by one operator's token, where another's started it and nobody knows either's account", async () => {
    const started = bench.callAsPerson(unknown, "Rollout", halves);
    await untilWaiting();

    const approved = await bench.callAsPerson({ ...unknown, actor: "ben" }, "Approve");

    expect(approved.status).toBe(200);
    expect((await started).body.state).toBe("completed");
  });

  it.each([
    ["the request asks for them", halves],
    ["one wave alone is approved", { ...halves, approvals: "last_wave" }],
  ])("is not started by a caller without a name, where %s", async (_when, request) => {
    const before = await status();

    // One that is started answers nothing until it is approved.
    const answer = await Promise.race([bench.call("Rollout", request), untilWaiting()]);

    const message = expect.stringContaining("nobody starts without a name");
    expect(answer).toMatchObject({ status: 403, body: { message } });
    expect((await status()).rollout_id).toBe(before.rollout_id);
  });

  it("refuses an approval that nothing waits for, or that is for something else", async () => {
    const before = await bench.callAs("ben", "Approve");
    const started = bench.callAs("ada", "Rollout", halves);
    const { rollout_id: id } = await untilWaiting();

    const otherWave = await bench.callAs("ben", "Approve", { wave: 3 });
    const otherRollout = await bench.callAs("ben", "Approve", { rollout_id: "r-0", wave: 2 });
    const skipped = await bench.call("Skip", { reason: "in a hurry" });
    const seen = await bench.callAs("ben", "Approve", { rollout_id: id, wave: 2 });
    await started;
    const late = await bench.callAs("ben", "Approve");

    expect([before, otherWave, otherRollout, skipped, late].map((one) => one.status)).toEqual([
      409, 409, 409, 409, 409,
    ]);
    expect(otherWave.body["message"]).toContain("waits for an approval of wave 2 by now");
    expect(skipped.body["message"]).toContain("cannot be skipped; Approve gives it");
    expect(seen.status).toBe(200);
  });

  it("asks before the first wave, too, and takes the fleet as it is when that starts", async () => {
    const started = bench.callAs("ada", "Rollout", { ...halves, approvals: "every_wave" });
    const first = await untilWaiting();
    bench.fleet.add("s99");
    await bench.callAs("ben", "Approve", { wave: 1 });
    await waitFor(async () => (await status()).current_wave === 1, {
      withinMs: 10_000,
      what: "the first wave",
    });
    await untilWaiting();
    await bench.callAs("cem", "Approve", { wave: 2 });
    const { body } = await started;
    bench.fleet.remove("s99");

    expect(first).toMatchObject({ current_wave: 0, total: 0 });
    expect(body).toMatchObject({ state: "completed", succeeded: 5 });
    expect(body["approved"]).toMatchObject([
      { wave: 1, by: "ben" },
      { wave: 2, by: "cem" },
    ]);
  });

  it("still waits for a window once it is approved, and needs no other approval", async () => {
    const started = bench.callAs("ada", "Rollout", halves);
    await untilWaiting();
    await bench.post(`${windowsName}/Add`, freeze);
    await bench.callAs("ben", "Approve");
    const frozen = await untilWaitingFor(bench, "window");
    await bench.post(`${windowsName}/Remove`, { id: freeze.id, reason: "it is over" });

    expect(frozen).toMatchObject({ current_wave: 1, approved: [{ wave: 2, by: "ben" }] });
    expect((await started).body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("waits again after a pause, and a wave that was approved goes on without another one", async () => {
    void bench.callAs("ada", "Rollout", halves);
    await untilWaiting();
    await bench.call("Pause");
    const refused = await bench.callAs("ben", "Approve");
    const resumed = bench.call("Resume");
    await untilWaiting();
    bench.fleet.hold();
    await bench.callAs("ben", "Approve");
    await untilInFlight(bench, 2);
    await bench.call("Pause");
    bench.fleet.release();
    await resumed;
    const { body } = await bench.call("Resume");

    expect(refused.status).toBe(409);
    expect(body).toMatchObject({ state: "completed", succeeded: 4, failed: 0 });
    expect(body["approved"]).toMatchObject([{ wave: 2, by: "ben" }]);
  });

  it("is cancelled while it waits, and nothing more is deployed", async () => {
    const started = bench.callAs("ada", "Rollout", halves);
    await untilWaiting();

    await bench.call("Cancel");

    expect((await started).body).toMatchObject({ state: "cancelled", succeeded: 2 });
    expect((await bench.callAs("ben", "Approve")).status).toBe(409);
  });

  it("says in its plan which waves need an approval", async () => {
    const { body } = await bench.call("Plan", { ...halves, wave_percentages: [25, 50, 100] });

    expect(RolloutPlan.parse(body).waves.map((wave) => wave.needs_approval)).toEqual([
      false,
      true,
      true,
    ]);
  });
});

describe("a rollout where the settings ask for approvals", () => {
  it("needs them, whatever less the request asks for", async () => {
    const bench = await startRolloutBench({ size: 4, policy: { approvals: "every_wave" } });
    try {
      const request = { ...halves, approvals: "last_wave" };
      const { body } = await bench.call("Plan", request);
      const { approvals: _, ...silent } = halves;
      const unsigned = await bench.call("Rollout", silent);
      void bench.callAs("ada", "Rollout", request);
      const waiting = await waitFor(
        async () => {
          const now = (await bench.call("Status")).body;
          return now["waiting_for"] === "approval" && now;
        },
        { withinMs: 10_000, what: "the rollout to wait for an approval" },
      );
      await bench.call("Cancel");

      expect(unsigned.status).toBe(403);
      expect(RolloutPlan.parse(body).waves.every((wave) => wave.needs_approval)).toBe(true);
      expect(waiting).toMatchObject({ current_wave: 0, policy: { approvals: "every_wave" } });
    } finally {
      await bench.stop();
    }
  });
});
