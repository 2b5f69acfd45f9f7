/** Past rollouts as history has them, played against other policies. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { createReadRuns } from "#monitor/results/gate.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import { ReplayResult } from "#rollout/replay/contract.ts";
import { createReadFacts } from "#rollout/replay/store.ts";
import { aCheckResult } from "../../support/monitor/check-builders.ts";
import { saveRecords } from "../../support/monitor/check-rows.ts";
import {
  type Answer,
  type RolloutBench,
  startRolloutBench,
} from "../../support/rollout/rollout-bench.ts";
import { imageV2 } from "../../support/rollout/rollout-builders.ts";
import { startOver, untilInFlight } from "../../support/rollout/standstill.ts";
import { waitFor } from "../../support/wait-for.ts";

let bench: RolloutBench;

beforeAll(async () => {
  bench = await startRolloutBench({ size: 12 });
});

afterAll(() => bench?.stop());

afterEach(() => startOver(bench));

const request = { image: imageV2, wave_percentages: [25, 50, 100] };
const tolerant = { ...request, max_failed: { in_all: "100%" } };

const replay = (rollout_id: unknown, policy: object = {}) =>
  bench.post("vedette.v1.RolloutReplay/Replay", { rollout_id, policy });

/** The replay, once history has the end and so many results. */
function replayOf({ body }: Answer, policy: object, ordered: number): Promise<ReplayResult> {
  return waitFor(
    async () => {
      const answer = await replay(body["rollout_id"], policy);
      const { success, data } = ReplayResult.safeParse(answer.body);
      const isWhole = success && data.really.ordered === ordered;
      return isWhole && data.really.state === body.state && data;
    },
    { withinMs: 15_000, what: "history to have the whole rollout" },
  );
}

/** The ids of the waves that Plan says. */
async function planned(): Promise<string[][]> {
  const { body } = await bench.call("Plan", request);
  return (body["waves"] as { sentinels: string[] }[]).map(({ sentinels }) => sentinels);
}

function failFor(...ids: (string | undefined)[]): void {
  bench.fleet.behave((id) =>
    ids.includes(id) ? { status: "failed", reason: "crash_loop" } : { status: "ready" },
  );
}

it("a rollout that went through with failures would have been stopped by a smaller budget", async () => {
  const [, second = [], third = []] = await planned();
  failFor(second[0], third[0]);
  const answer = await bench.call("Rollout", tolerant);

  const whole = await replayOf(answer, {}, 12);
  const stopped = await replayOf(answer, { max_failed: { in_all: 0 } }, 12);
  const later = await replayOf(answer, { max_failed: { in_all: 1 } }, 12);

  expect(whole).toMatchObject({
    ...{ really: { state: "completed", ordered: 12, failed: 2 }, fewer: 0, longer_seconds: 0 },
    would: { end: "completed", wave: 3, waves: 3, ordered: 12, failed: 2, unknown: 0 },
  });
  expect(stopped.would).toMatchObject({ end: "paused", cause: "budget", wave: 2, failed: 1 });
  expect(stopped.fewer).toBeGreaterThanOrEqual(6);
  expect(later.would).toMatchObject({ end: "paused", wave: 3 });
});

it("a rollout that paused pauses in the replay for the same reason, and unknown ones are counted", async () => {
  const [first = []] = await planned();
  failFor(first[1]);
  const answer = await bench.call("Rollout", request);

  const own = await replayOf(answer, {}, 3);
  const tolerated = await replayOf(answer, { max_failed: { in_all: 1 } }, 3);
  const wider = await replayOf(answer, { wave_percentages: [50, 100] }, 3);

  expect(own.would).toMatchObject({ end: "paused", cause: "sentinels", wave: 1, ordered: 3 });
  expect(tolerated.would).toMatchObject({ end: "unknown", wave: 1, waves: 3, failed: 1 });
  expect(wider.would).toMatchObject({ end: "paused", wave: 1, waves: 2, ordered: 3, unknown: 3 });
});

it("failures of the fleet's API are told from those of the image", async () => {
  const [first = []] = await planned();
  bench.fleet.behave((id) =>
    id === first[0]
      ? { status: "failed", reason: "platform_error", isOfApi: true }
      : { status: "ready" },
  );
  const answer = await bench.call("Rollout", request);
  expect(answer.body).toMatchObject({ state: "paused", cause: "fleet" });

  const own = await replayOf(answer, { on_failure: "rollback" }, 3);

  expect(own.would).toMatchObject({ end: "paused", cause: "fleet", reason: answer.body["reason"] });
});

it("the region, the labels and the size of the fleet are those of then", async () => {
  bench.fleet.label({ tier: "canary" }, "s07");
  const answer = await bench.call("Rollout", {
    ...request,
    exclude: [{ ids: ["s01"], reason: "it is looked at" }],
  });
  const { would } = await replayOf(answer, { canary_labels: { tier: "canary" } }, 11);
  bench.fleet.label({}, "s07");

  const { database } = bench;
  const readRuns = createReadRuns(database, { failedAtPercent: 0 });
  const readFacts = createReadFacts({ database, readRuns, nowMs: Date.now });
  const { members, fleetSize } = await readFacts(`${answer.body["rollout_id"]}`, []);

  expect(would).toMatchObject({ end: "completed", ordered: 11, unknown: 0 });
  expect(fleetSize).toBe(12);
  expect(members).toHaveLength(12);
  expect(members.find(({ id }) => id === "s07")).toMatchObject({ labels: { tier: "canary" } });
  expect(members.find(({ id }) => id === "s01")).toMatchObject({ wave: null, region: "us" });
});

it("a failure after a success is one of the soak, and what came after it does not count", async () => {
  const answer = await bench.call("Rollout", request);
  const { would } = await replayOf(answer, { soak_seconds: 60 }, 12);
  const { rows } = await bench.database.query(
    `UPDATE rollout_sentinels SET changes = changes
       || jsonb_build_array(jsonb_build_array('failed', (changes -> 0 ->> 1)::bigint + 30000, null))
       || '[["reverted", 9000000000000, null]]'
     WHERE rollout_id = $1 AND wave = 1 RETURNING sentinel_id`,
    [answer.body["rollout_id"]],
  );

  const { body } = await replay(answer.body["rollout_id"], { soak_seconds: 60 });

  expect(rows).toHaveLength(3);
  expect(would).toMatchObject({ end: "completed", wave: 3 });
  expect(ReplayResult.parse(body).would).toMatchObject({
    ...{ end: "paused", cause: "sentinels", wave: 1, ordered: 3, failed: 3 },
  });
});

it("a gate is played by the stored runs of its check", async () => {
  const answer = await bench.call("Rollout", request);
  const { started_at } = await replayOf(answer, {}, 12);
  const scheduledAtMs = Date.parse(started_at) + 5_000;
  const run = { checkId: "liveness", startedAtMs: scheduledAtMs, durationMs: 10 };
  const bad = { grade: "failed", reason: "refused" } as const;
  const later = { ...run, scheduledAtMs: scheduledAtMs + 1, location: "fra" };
  await saveRecords(bench.database, {
    results: [
      aCheckResult({ ...run, scheduledAtMs }),
      aCheckResult({ ...later }),
      aCheckResult({ ...later, ...bad, location: "iad" }),
    ],
  });
  const runs = await createReadRuns(bench.database, { failedAtPercent: 60 })(["liveness"], {
    fromMs: scheduledAtMs,
    untilMs: scheduledAtMs + 1,
  });

  const facts = { database: bench.database, nowMs: () => Date.now() + 60_000 };
  const readRuns = createReadRuns(bench.database, { failedAtPercent: 0 });
  const gate = { checks: ["liveness"], clean_runs: 1, timeout_seconds: 10 };
  const gates = gatesOf({ gate }, []);
  const read = await createReadFacts({ ...facts, readRuns })(`${answer.body["rollout_id"]}`, gates);

  expect(runs.runs).toMatchObject([
    { isClean: true, failure: null },
    { isClean: false, failure: null },
  ]);
  expect(read.runs).toMatchObject([
    { check: "liveness", isClean: true, failure: null, scheduledMs: scheduledAtMs },
    { isClean: false, failure: { location: "iad", reason: "refused" } },
  ]);
});

it("a rollout that runs, one that nobody knows and a policy with a stranger are refused", async () => {
  bench.fleet.hold();
  await bench.send("Rollout", request);
  const body = await untilInFlight(bench, 3);
  const running = await waitFor(
    async () => {
      const answer = await replay(body.rollout_id);
      return answer.status !== 404 && answer;
    },
    { withinMs: 10_000, what: "history to have the rollout" },
  );

  expect(running).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining("it has not ended yet") },
  });
  expect(await replay("nobody")).toMatchObject({
    status: 404,
    body: { message: expect.stringContaining("there is no rollout nobody") },
  });
  const strange = await replay(body.rollout_id, { max_fail: 1 });
  expect(strange).toMatchObject({ status: 400 });
  expect(JSON.stringify(strange.body)).toContain("did you mean max_failed?");
});
