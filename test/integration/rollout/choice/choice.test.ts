/** Which sentinels a rollout takes, and in which order: pins, exclusions, canaries, regions, caps. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { pinHandlers, pinsName } from "#rollout/choice/contract.ts";
import { RolloutHistory, RolloutPlan, RolloutStatus } from "#rollout/contract.ts";
import { modes } from "../../../support/replay.ts";
import { failing } from "../../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { startOver } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const size = 8;
const whole = { image: imageV2, wave_percentages: [100] };
const halves = { image: imageV2, wave_percentages: [50, 100] };
const allIds = Array.from({ length: size }, (_, i) => `s0${i + 1}`);

describe.each(modes)("a rollout with a choice, $mode", ({ alwaysReplay }) => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size, alwaysReplay });
  });

  afterAll(() => bench.stop());

  afterEach(async () => {
    const { pins } = pinHandlers.List.output.parse((await pinCall("List")).body);
    for (const { id } of pins) await pinCall("Remove", { id, reason: "it is over" });
    await startOver(bench);
  });

  const pinCall = (handler: keyof typeof pinHandlers, body: object = {}) =>
    bench.post(`${pinsName}/${handler}`, body);

  const pin = (id: string, selector: object) =>
    pinCall("Add", { id, reason: "a leak is looked at", ...selector });

  const rollout = async (request: object) =>
    RolloutStatus.parse((await bench.call("Rollout", request)).body);

  const plan = async (request: object) =>
    RolloutPlan.parse((await bench.call("Plan", request)).body);

  let before = 0;
  let startedAt = new Date();

  beforeEach(() => {
    startedAt = new Date();
    before = bench.fleet.applied.length;
  });

  /** The ids of the test's own deploys, in order. */
  const applied = () => bench.fleet.applied.slice(before).map(({ id }) => id);

  const idsOn = (image: string) =>
    [...bench.fleet.running()].filter(([, running]) => running === image).map(([id]) => id);

  /** The outcomes of a sentinel in the test's own rollouts, with their reasons, once history has them all. */
  const outcomesOf = (id: string) =>
    waitFor(
      async () => {
        const { rows } = await bench.database.query(
          `SELECT s.outcome, s.reason, state FROM rollout_sentinels s JOIN rollouts r ON r.id = rollout_id
           WHERE sentinel_id = $1 AND started_at >= $2 ORDER BY started_at`,
          [id, startedAt],
        );
        const isWhole = rows.every(
          ({ outcome, state }) => outcome !== null && state === "completed",
        );
        return rows.length > 0 && isWhole && rows.map(({ outcome, reason }) => [outcome, reason]);
      },
      { withinMs: 10_000, what: "the outcomes in history" },
    );

  const newestInHistory = () =>
    waitFor(
      async () => {
        const { body } = await bench.call("History", { limit: 1 });
        const [newest] = RolloutHistory.parse(body).rollouts;
        return newest?.ended_at != null && newest;
      },
      { withinMs: 10_000, what: "history to have the end" },
    );

  it("leaves out what is pinned, says so, and takes it once the pin is gone", async () => {
    await pin("leak", { ids: ["s02"] });

    const planned = await plan(whole);
    const first = await rollout(whole);
    const pinned = idsOn(imageV1);
    await pinCall("Remove", { id: "leak", reason: "it is found" });
    const second = await rollout(whole);

    expect(planned).toMatchObject({
      total: 7,
      left_out_count: 1,
      left_out: [{ id: "s02", pin: "leak", reason: "a leak is looked at" }],
    });
    expect(first).toMatchObject({ state: "completed", total: 7, succeeded: 7, left_out: 1 });
    expect(pinned).toEqual(["s02"]);
    expect(await outcomesOf("s02")).toEqual([
      ["left_out", "pin leak: a leak is looked at"],
      ["succeeded", null],
    ]);
    expect(second).toMatchObject({ state: "completed", total: 1, succeeded: 1, left_out: 0 });
  });

  it("leaves out what is pinned while it runs, with the pin's reason in history", async () => {
    const { waves } = await plan(halves);
    const [target = ""] = waves[1]?.sentinels ?? [];
    bench.fleet.hold();
    const started = bench.call("Rollout", halves);
    await waitFor(
      async () => RolloutStatus.parse((await bench.call("Status")).body).in_flight === 4,
      { withinMs: 10_000, what: "the first wave to be in flight" },
    );

    await pin("leak", { ids: [target] });
    bench.fleet.release();
    const { body } = await started;

    expect(body).toMatchObject({ state: "completed", succeeded: 7, failed: 0, left_out: 1 });
    expect(idsOn(imageV1)).toEqual([target]);
    expect(applied()).not.toContain(target);
    expect(await outcomesOf(target)).toEqual([["left_out", "pin leak: a leak is looked at"]]);
    expect(await newestInHistory()).toMatchObject({ state: "completed", left_out: 1 });
  });

  it("leaves out by its id what the fleet does not list any more", async () => {
    const { waves } = await plan(halves);
    const [target = ""] = waves[1]?.sentinels ?? [];
    bench.fleet.hold();
    const started = bench.call("Rollout", halves);
    await expect.poll(async () => (await bench.call("Status")).body["in_flight"]).toBe(4);
    await bench.database.query("DELETE FROM sentinels WHERE id = $1", [target]);
    await pin("leak", { ids: [target] });
    bench.fleet.release();

    expect((await started).body).toMatchObject({ state: "completed", succeeded: 7, left_out: 1 });
    expect(applied()).not.toContain(target);
  });

  it("restores the previous image of a sentinel that was pinned afterwards", async () => {
    bench.fleet.behave(failing(["s01"]));
    const paused = await rollout(whole);
    await pin("all", { ids: allIds });

    const { body } = await bench.call("RollbackAll");

    expect(paused).toMatchObject({ state: "paused", succeeded: 7 });
    expect(body).toMatchObject({ reverted: 7, not_reverted: [] });
  });

  it("completes when a pin holds every sentinel back", async () => {
    await pin("all", { ids: allIds });

    expect(await rollout(whole)).toMatchObject({ state: "completed", total: 0, left_out: 8 });
    expect(idsOn(imageV2)).toEqual([]);
  });

  it("leaves out what the request excludes by id, region and label", async () => {
    bench.fleet.label({ kernel: "5" }, "s01", "s02");
    bench.fleet.label({ kernel: "4" }, "s06", "s07");
    const exclude = [
      { labels: { kernel: "5" }, reason: "it needs a newer one" },
      { ids: ["s03"] },
      { regions: ["eu"], labels: { kernel: "4" } },
    ];

    const planned = await plan({ ...whole, exclude });
    const status = await rollout({ ...whole, exclude });

    expect(planned.left_out).toEqual([
      { id: "s01", pin: null, reason: "it needs a newer one" },
      { id: "s02", pin: null, reason: "it needs a newer one" },
      { id: "s03", pin: null, reason: "" },
      { id: "s06", pin: null, reason: "" },
    ]);
    expect(status).toMatchObject({ total: 4, left_out: 4, policy: { exclude } });
    expect(await outcomesOf("s03")).toEqual([["left_out", "excluded"]]);
    expect(idsOn(imageV1)).toEqual(["s01", "s02", "s03", "s06"]);
  });

  it("takes only those that the request asks for, and leaves the others out by name", async () => {
    const only = { regions: ["ap"] };

    const planned = await plan({ ...whole, only });
    const status = await rollout({ ...whole, only });

    const reason = "only others are asked for";
    expect(planned).toMatchObject({ total: 3, left_out_count: 5 });
    expect(planned.left_out).toContainEqual({ id: "s01", pin: null, reason });
    expect(status).toMatchObject({ state: "completed", total: 3, left_out: 5 });
    expect(idsOn(imageV2)).toEqual(["s02", "s05", "s08"]);
    expect(await outcomesOf("s01")).toEqual([["left_out", `excluded: ${reason}`]]);
  });

  it.each([
    [{ exclude: [{ ids: ["s99"] }] }, "exclude.0.ids: no sentinel is called s99; there are s0"],
    [
      { exclude: [{ ids: ["s01"] }, { regions: ["eu-9"] }] },
      "exclude.1.regions: no sentinel is in eu-9; there are eu, us, ap",
    ],
    [{ regions: ["app"] }, "regions: no sentinel is in app: did you mean ap?"],
    [{ only: { ids: ["s1"] } }, "only.ids: no sentinel is called s1: did you mean s01?"],
    [
      { canary_labels: { tier: "canry" } },
      "canary_labels: no sentinel has tier=canry: did you mean ",
    ],
    [
      { only: { ids: ["s01"] }, exclude: [{ ids: ["s01"] }] },
      "nobody is left to deploy to: of 8 sentinels all are left out by exclude.0 (s01) and only (s01)",
    ],
  ])(
    "Plan and Rollout refuse %j, which no sentinel matches, and say what there is",
    async (fields, words) => {
      bench.fleet.label({ tier: "canary" }, "s08");

      const planned = await bench.call("Plan", { ...whole, ...fields });
      const started = await bench.call("Rollout", { ...whole, ...fields });

      for (const { status, body } of [planned, started]) {
        expect(status).toBe(400);
        expect(body).toMatchObject({ metadata: { code: "unknown_choice" } });
        expect(body["message"]).toContain(words);
      }
      expect(applied()).toEqual([]);
    },
  );

  it("starts nothing when a request that is only sent names what no sentinel has", async () => {
    const before = (await bench.call("Status")).body["rollout_id"];

    const sent = await bench.send("Rollout", { ...whole, regions: ["app"] });
    const failed = await waitFor(
      async () => {
        const rows = await bench.query(
          `SELECT completion_failure FROM sys_invocation WHERE id = '${sent.body["invocationId"]}'`,
        );
        return rows[0]?.["completion_failure"];
      },
      { withinMs: 10_000, what: "the sent call to end" },
    );

    expect(failed).toContain("no sentinel is in app");
    expect((await bench.call("Status")).body["rollout_id"]).toBe(before);
    expect(applied()).toEqual([]);
  });

  it("is not refused while its fleet cannot be listed, and starts once it can", async () => {
    bench.fleet.away(true);
    const calling = bench.call("Rollout", { ...whole, only: { ids: ["s03"] } });
    await waitFor(async () => (await bench.call("Status")).body["image"] === imageV2, {
      withinMs: 15_000,
      what: "the rollout to be accepted",
    });
    await calling;
    bench.fleet.away(false);

    const { body } = await bench.call("Resume");

    expect(body).toMatchObject({ state: "completed", succeeded: 1, left_out: 7 });
  });

  it("pauses before its first wave when the fleet is listed at last and lacks what it names", async () => {
    bench.fleet.away(true);
    const first = await rollout({ ...whole, only: { ids: ["s33"] } });
    bench.fleet.away(false);

    const { body } = await bench.call("Resume");

    expect(first).toMatchObject({ state: "paused", cause: "fleet" });
    expect(body).toMatchObject({ state: "paused", cause: "fleet", total: 0 });
    expect(body["reason"]).toContain("only.ids: no sentinel is called s33: did you mean s03?");
    expect(applied()).toEqual([]);
  });

  it("Plan names the canaries, and warns of a pin that no sentinel matches", async () => {
    bench.fleet.label({ tier: "canary" }, "s08");
    const added = await pin("typo", { ids: ["s88"] });

    const planned = await plan({ ...halves, canary_labels: { tier: "canary" } });

    const warning = "pin typo, ids: no sentinel is called s88: did you mean s08?";
    expect(planned).toMatchObject({ total: 8, canaries: ["s08"], canary_count: 1 });
    expect(planned.warnings[0]).toContain(warning);
    expect(added).toMatchObject({
      status: 200,
      body: { warnings: [expect.stringContaining(warning)] },
    });
  });

  it("says that every sentinel runs the image already, in its answer, its plan and history", async () => {
    await rollout(whole);

    const planned = await plan(whole);
    const status = await rollout(whole);

    const reason = "nothing to do: all 8 sentinels run it already";
    expect(planned.notes[0]).toBe(reason);
    expect(status).toMatchObject({ state: "completed", outcome: "completed", total: 0, reason });
    expect(await newestInHistory()).toMatchObject({ total: 0, reason });
    await expect.poll(() => JSON.stringify(bench.chat.messages.at(-1))).toContain(reason);
  });

  it("a pin that some sentinel matches has no warnings", async () => {
    expect((await pin("leak", { ids: ["s02"] })).body["warnings"]).toEqual([]);
  });

  it("deploys canaries first, then the regions in order", async () => {
    bench.fleet.label({ tier: "canary" }, "s08");
    const order = { canary_labels: { tier: "canary" }, regions: ["ap"] };
    const request = { image: imageV2, wave_percentages: [12, 37, 100], ...order };

    const { waves } = await plan(request);
    await rollout(request);

    expect(waves.map(({ sentinels }) => sentinels.toSorted())).toEqual([
      ["s08"],
      ["s02", "s05"],
      ["s01", "s03", "s04", "s06", "s07"],
    ]);
    expect(applied()[0]).toBe("s08");
    expect(applied().slice(1, 3).toSorted()).toEqual(["s02", "s05"]);
  });

  it("has no more of a region in a wave than the cap, and history has the waves that came of it", async () => {
    const request = { ...halves, max_per_region: 1, reason: "CVE-2026-1" };

    const { waves } = await plan(request);
    const status = await rollout(request);

    for (const { regions } of waves) expect(Math.max(...Object.values(regions))).toBe(1);
    expect(waves.map(({ percentage }) => percentage)).toEqual([50, 50, 100, 100]);
    expect(status).toMatchObject({ state: "completed", total_waves: 4, succeeded: 8 });
    expect(await newestInHistory()).toMatchObject({
      policy: { max_per_region: 1, reason: "CVE-2026-1" },
    });
  });

  it("takes a pin twice, but no other one under its name", async () => {
    const added = await pin("leak", { ids: ["s02", "s01"] });
    const again = await pin("leak", { ids: ["s01", "s02"] });
    const other = await pin("leak", { ids: ["s03"] });
    const unknown = await pinCall("Remove", { id: "none", reason: "a test" });

    expect(added.status).toBe(200);
    expect(again.body).toEqual(added.body);
    expect(other).toMatchObject({ status: 409, body: { metadata: { code: "pin_exists" } } });
    expect(unknown).toMatchObject({ status: 404, body: { metadata: { code: "unknown_pin" } } });
  });

  it.each([
    [{ id: "leak", reason: "nothing is named" }],
    [{ id: "leak", ids: [], reason: "none" }],
    [{ id: "Leak 7", ids: ["s01"], reason: "no id" }],
    [{ id: "leak", ids: ["s01"] }],
    [{ id: "leak", ids: ["s01"], ends: "tomorrow", reason: "no time" }],
    [{ id: "leak", labels: { "a b": "c" }, reason: "no label" }],
  ])("refuses the pin %j", async (body) => {
    expect((await pinCall("Add", body)).status).toBe(400);
  });

  it("leaves nothing out because of a pin that is over", async () => {
    await pin("leak", { ids: ["s02"], ends: new Date(Date.now() + 1_000).toISOString() });
    const held = await plan(whole);

    const later = await waitFor(
      async () => {
        const now = await plan(whole);
        return now.left_out_count === 0 && now;
      },
      { withinMs: 10_000, what: "the pin to end" },
    );

    expect([held.total, later.total]).toEqual([7, 8]);
  });

  it.each([
    [{ exclude: [{ reason: "nothing is named" }] }],
    [{ canary_labels: {} }],
    [{ regions: ["eu", "eu"] }],
    [{ max_unavailable: "lots" }],
    [{ max_per_region: -1 }],
  ])("refuses %j", async (fields) => {
    const { status } = await bench.call("Rollout", { ...whole, ...fields });

    expect(status).toBe(400);
    expect(applied()).toEqual([]);
  });
});
