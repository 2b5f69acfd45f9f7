/** Drift, holds and convergence on a real Restate and a real Postgres. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FleetDrift, OnDrift } from "#fleet/drift-contract.ts";
import type { HeadPolicy } from "#rollout/state.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { untilWaitingFor } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

let bench: RolloutBench;
let onDrift: OnDrift;
let off: string[];
let policy: HeadPolicy;
const events: string[] = [];
const titles: string[] = [];

beforeEach(async () => {
  onDrift = "report";
  off = [];
  policy = {};
  events.length = 0;
  titles.length = 0;
  bench = await startRolloutBench({
    size: 6,
    alwaysReplay: modes.some(({ alwaysReplay }) => alwaysReplay),
    onDrift: () => onDrift,
    whyOff: () => off,
    policy,
    chat: {
      send: async (_, message) => {
        if (message.kind === "notice") {
          events.push(message.notice.rollout?.event ?? "");
          titles.push(message.notice.title);
        }
        return { kind: "accepted" };
      },
    },
  });
});

afterEach(() => bench.stop());

const readDrift = async () =>
  (await bench.post("vedette.v1.FleetService/Drift", {})).body as unknown as FleetDrift;

const driftEvents = () => events.filter((event) => event.startsWith("drift"));

/** Rolls out v2, and waits until history has its end. */
async function complete(body: object = {}) {
  await bench.call("Rollout", { image: imageV2, wave_percentages: [100], ...body });
  await historyHas("ended_at IS NOT NULL");
}

async function historyHas(condition: string) {
  const isThere = async () =>
    (await bench.database.query(`SELECT FROM rollouts WHERE ${condition}`)).rowCount !== 0;
  await waitFor(isThere, { withinMs: 10_000, what: condition });
}

async function checkTwice() {
  await bench.checkDrift();
  return bench.checkDrift();
}

it("a sentinel that was put back is listed after two readings, announced once, and once when it is gone", async () => {
  await complete();
  bench.fleet.run("s03", imageV1);

  expect(await bench.checkDrift()).toBe("0 drifted");
  expect((await readDrift()).total).toBe(0);
  expect(await bench.checkDrift()).toBe("1 drifted");
  await bench.checkDrift();
  expect(await readDrift()).toMatchObject({
    on_drift: "report",
    total: 1,
    held: 0,
    sentinels: [{ id: "s03", desired_image: imageV2, running_image: imageV1, why: "drifted" }],
  });
  bench.fleet.run("s03", imageV2);
  await checkTwice();

  await waitFor(() => driftEvents().length === 2, { withinMs: 20_000, what: "both messages" });
  expect(driftEvents()).toEqual(["drift found", "drift gone"]);
  expect(bench.fleet.applied).toHaveLength(6);
});

it("sentinels that joined, were pinned or failed drift for that reason", async () => {
  const pin = { id: "hold-1", fleet: "singleton", ids: ["s01"], reason: "changed by hand" };
  await bench.post("vedette.v1.RolloutPins/Add", pin, "ada");
  bench.fleet.behave(failing(["s02"]));
  await complete({ max_failed: { in_all: 1 } });
  bench.fleet.add("s99");

  await checkTwice();

  const { sentinels, held } = await readDrift();
  expect(sentinels.map(({ id, why }) => [id, why])).toEqual(
    expect.arrayContaining([
      ["s01", "late"],
      ["s02", "failed"],
      ["s99", "joined"],
    ]),
  );
  expect(held).toBe(1);
  expect(sentinels.find(({ id }) => id === "s01")?.held).toMatchObject({
    pin: "hold-1",
    by: "ada",
    reason: "changed by hand",
  });
});

it("after a rollback the images before are the desired ones", async () => {
  bench.fleet.behave(failing(["s02"]));
  await bench.call("Rollout", { image: imageV2, wave_percentages: [50, 100] });
  await bench.call("RollbackAll", { include_failed: true });
  await historyHas("outcome = 'rolled_back'");

  expect(await checkTwice()).toBe("0 drifted");
});

it("converging is a rollout of the drifted by the reconciler, and none of the held", async () => {
  await complete();
  onDrift = "converge";
  for (const id of ["s02", "s03", "s04"]) bench.fleet.run(id, imageV1);
  const hold = { id: "hold-1", ids: ["s04"], reason: "a debug build" };
  await bench.post("vedette.v1.RolloutPins/Add", hold, "ada");
  bench.fleet.applied.length = 0;

  expect(await checkTwice()).toBe("2 drifted, 1 held, converging");

  await historyHas("started_by = 'reconciler' AND outcome = 'completed'");
  expect(bench.fleet.applied.map(({ id }) => id).toSorted()).toEqual(["s02", "s03"]);
  expect(await checkTwice()).toBe("0 drifted, 1 held");
  expect(bench.fleet.running().get("s04")).toBe(imageV1);
});

it("whoever has started the rollout of an image approves none that brings it to others", async () => {
  policy.approvals = "after_first";
  const pin = { id: "hold-1", ids: ["s02", "s03", "s04", "s05", "s06"], reason: "for now" };
  await bench.post("vedette.v1.RolloutPins/Add", pin, "ada");
  const ada = { actor: "ada", accounts: ["account-of-ada"] };
  await bench.callAsPerson(ada, "Rollout", { image: imageV2, wave_percentages: [50, 100] });
  await historyHas("ended_at IS NOT NULL");
  await bench.post("vedette.v1.RolloutPins/Remove", { id: "hold-1", reason: "over" }, "ada");
  onDrift = "converge";

  await checkTwice();
  await untilWaitingFor(bench, "approval");

  const answers = [
    await bench.callAs("ada", "Approve"),
    await bench.callAsPerson({ ...ada, actor: "ada2" }, "Approve"),
    await bench.callAsPerson({ actor: "ben", accounts: ["account-of-ben"] }, "Approve"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 200]);
});

it("a sentinel that fails when it is brought back is not tried again at once", async () => {
  await complete({ on_failure: "rollback" });
  onDrift = "converge";
  bench.fleet.run("s02", imageV1);
  bench.fleet.behave(failing(["s02"]));
  bench.fleet.applied.length = 0;
  expect(await checkTwice()).toBe("1 drifted, converging");
  await historyHas("started_by = 'reconciler' AND ended_at IS NOT NULL");

  for (let i = 0; i < 3; i += 1) await checkTwice();

  expect(bench.fleet.applied.filter(({ image }) => image === imageV2)).toHaveLength(1);
  expect((await readDrift()).sentinels).toMatchObject([{ id: "s02", why: "failed" }]);
});

it("people are notified when the rollout that brings sentinels back is refused, and the check says why", async () => {
  await complete({ gate: { checks: ["liveness"] } });
  onDrift = "converge";
  off = ["PROBE_KEY"];
  bench.fleet.run("s02", imageV1);

  expect(await checkTwice()).toBe("1 drifted, converging");

  const isRefused = () => titles.includes("Drifted sentinels cannot be brought back");
  await waitFor(isRefused, { withinMs: 20_000, what: "the message of the refusal" });
  expect(await bench.checkDrift()).toMatch(
    /^1 drifted, the last rollout was refused: .*liveness is off/,
  );
});

it("nothing is converged while a rollout is paused", async () => {
  await complete();
  onDrift = "converge";
  bench.fleet.behave(failing(["s01"]));
  const only = { ids: ["s01"] };
  await bench.call("Rollout", { image: imageV1, wave_percentages: [100], only });
  await historyHas("state = 'paused'");
  bench.fleet.run("s03", imageV1);

  expect(await checkTwice()).toBe("1 drifted");
});

it("a sentinel that was changed by hand is held, told once, and brought back once it is released", async () => {
  await complete();
  onDrift = "converge";
  bench.fleet.run("s02", imageV1.replace("v1", "debug"));
  bench.fleet.run("s03", imageV1);
  bench.fleet.applied.length = 0;

  expect(await checkTwice()).toBe("1 drifted, 1 held, converging");
  await historyHas("started_by = 'reconciler' AND outcome = 'completed'");
  expect(await checkTwice()).toBe("0 drifted, 1 held");
  expect(bench.fleet.applied.map(({ id }) => id)).toEqual(["s03"]);
  const { sentinels } = await readDrift();
  const { pin = "", ...held } = sentinels.find(({ id }) => id === "s02")?.held ?? {};
  expect(held).toMatchObject({ by: "reconciler", reason: expect.stringContaining("by hand") });
  const told = titles.filter((title) => title === "Sentinels were changed by hand, and are held");
  expect(told).toHaveLength(1);

  await bench.post("vedette.v1.RolloutPins/Remove", { id: pin, reason: "it is over" }, "ada");
  expect(await bench.checkDrift()).toBe("1 drifted, converging");
  await waitFor(() => bench.fleet.running().get("s02") === imageV2, {
    withinMs: 20_000,
    what: "the sentinel to be brought back",
  });
});

/** A rollout that waits after its first half, of which s03 has been put back. */
async function putBackMeanwhile(fields: object = {}) {
  const request = { image: imageV2, wave_percentages: [50, 100], gates: [confirmation] };
  await bench.send("Rollout", { ...request, ...fields });
  await untilWaitingFor(bench, "gate");
  const [id = ""] = [...bench.fleet.running()].find(([, image]) => image === imageV2) ?? [];
  await historyHas("succeeded = 3 AND ended_at IS NULL");
  bench.fleet.run(id, imageV1);
  return id;
}

const confirmation = { kind: "pause", name: "ok" };

it("a rollout in progress pauses once for a sentinel that has left its image", async () => {
  const id = await putBackMeanwhile();
  await bench.checkDrift();
  expect((await bench.call("Status")).body).toMatchObject({ state: "in_progress" });
  await bench.checkDrift();

  const { body } = await bench.call("Status");
  expect(body).toMatchObject({ state: "paused", cause: "drift" });
  expect(body["reason"]).toContain(id);
  await bench.send("Resume");
  await untilWaitingFor(bench, "gate");
  await checkTwice();
  expect((await bench.call("Status")).body).toMatchObject({ state: "in_progress" });
});

it("a rollout goes on for as many left sentinels as may fail, and where they are brought back", async () => {
  await putBackMeanwhile({ max_failed: { in_all: 1 } });
  await checkTwice();
  expect((await bench.call("Status")).body).toMatchObject({ state: "in_progress" });
  await bench.call("Cancel");

  onDrift = "converge";
  bench.fleet.reset();
  await putBackMeanwhile();
  await checkTwice();
  expect((await bench.call("Status")).body).toMatchObject({ state: "in_progress" });
});

it("a held fleet takes no rollout", async () => {
  const hold = { id: "hold-all", fleet: "singleton", whole_fleet: true, reason: "an audit" };
  await bench.post("vedette.v1.RolloutPins/Add", hold, "ada");

  await complete();

  expect(bench.fleet.applied).toEqual([]);
});
