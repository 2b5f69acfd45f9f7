/** Several fleets: a rollout each at the same time, with rows, history and messages of its own. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { RolloutHandlerName } from "#rollout/contract.ts";
import { rolloutHandlers } from "#rollout/contract.ts";
import { createMemoryFleet, failing } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

const halves = { image: imageV2, wave_percentages: [50, 100] };
const reason = "a test";

let bench: RolloutBench;
const staging = createMemoryFleet(4);
const production = createMemoryFleet(4);

beforeAll(async () => {
  bench = await startRolloutBench({
    size: 3,
    fleets: { staging, production },
    operators: { production: ["ada"] },
  });
});

afterAll(() => bench.stop());

beforeEach(async () => {
  for (const name of ["singleton", "staging", "production"]) {
    await bench.callOf(name, "Cancel");
    const isIdle = async () => (await bench.callOf(name, "Status")).body["in_flight"] === 0;
    await waitFor(isIdle, { withinMs: 5_000, what: `no deploys in flight in ${name}` });
  }
  for (const fleet of [bench.fleet, staging, production]) {
    fleet.reset();
    fleet.applied.length = 0;
    fleet.behave(() => ({ status: "ready" }));
  }
});

describe("two fleets", () => {
  it("roll out at the same time, and one that fails stops itself alone", async () => {
    staging.behave(failing(["s01", "s02", "s03", "s04"]));

    const [first, second] = await Promise.all([
      bench.callOf("staging", "Rollout", halves),
      bench.callOf("production", "Rollout", halves),
    ]);

    expect(first.body).toMatchObject({ state: "paused", fleet: "staging", failed: 2 });
    expect(second.body).toMatchObject({ state: "completed", fleet: "production", succeeded: 4 });
    expect(bench.fleet.applied).toEqual([]);
    expect(new Set(production.running().values())).toEqual(new Set([imageV2]));
  });

  it("have sentinels whose ids begin with the fleet's name, which their own drivers never see", async () => {
    const { body: plan } = await bench.callOf("staging", "Plan", halves);
    await bench.callOf("staging", "Rollout", halves);
    const { body } = await bench.post("vedette.v1.FleetService/List", { fleet: "staging" });

    const ids = (body["sentinels"] as { id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(["staging:s01", "staging:s02", "staging:s03", "staging:s04"]);
    expect(plan).toMatchObject({ total: 4, waves: [{ size: 2 }, { size: 2 }] });
    expect(new Set(staging.applied.map(({ id }) => id))).toEqual(
      new Set(["s01", "s02", "s03", "s04"]),
    );
  });

  it("keep the default one's ids, list and history as they are", async () => {
    await bench.call("Rollout", halves);
    await bench.callOf("staging", "Rollout", halves);

    const { body: list } = await bench.post("vedette.v1.FleetService/List", {});
    const { body: own } = await bench.call("History", { limit: 1 });
    const { body: other } = await bench.callOf("staging", "History", { limit: 1 });

    expect((list["sentinels"] as { id: string }[]).map(({ id }) => id)).toEqual([
      "s01",
      "s02",
      "s03",
    ]);
    expect(own).toMatchObject({ rollouts: [{ total: 3 }] });
    expect(other).toMatchObject({ rollouts: [{ total: 4 }] });
    expect((await bench.call("Status")).body["fleet"]).toBeUndefined();
  });

  it("are rolled back one by one", async () => {
    staging.behave(failing(["s01"]));
    await bench.callOf("staging", "Rollout", { image: imageV2, wave_percentages: [100] });
    await bench.callOf("production", "Rollout", { image: imageV2 });
    staging.behave(() => ({ status: "ready" }));

    const { body } = await bench.callOf("staging", "RollbackAll", { include_failed: true });

    expect(body).toMatchObject({ reverted: 4, not_reverted: [], fleet: "staging" });
    expect(new Set(staging.running().values())).toEqual(new Set([imageV1]));
    expect(new Set(production.running().values())).toEqual(new Set([imageV2]));
  });

  it("name themselves in their chat messages, the default one does not", async () => {
    await bench.callOf("staging", "Rollout", { image: imageV2 });
    await bench.call("Rollout", { image: imageV2 });

    const areTold = () => {
      const titles = bench.chat.messages.map(({ text }) => text);
      return (
        titles.some((text) => text.includes("Rollout completed (staging)")) &&
        titles.some((text) => /Rollout completed:/.test(text))
      );
    };
    await waitFor(areTold, { withinMs: 10_000, what: "both messages" });
  });
});

describe("a key that is no fleet's", () => {
  const bodies: Partial<Record<RolloutHandlerName, object>> = {
    Rollout: halves,
    Plan: halves,
    Skip: { reason },
  };

  it.each(Object.keys(rolloutHandlers) as RolloutHandlerName[])(
    "is refused by %s",
    async (name) => {
      const { status, body } = await bench.callOf("qa", name, bodies[name] ?? {});

      expect(status).toBe(404);
      expect(body["message"]).toContain("there are staging, singleton, production");
    },
  );

  it("is refused for a list and for rows", async () => {
    const list = await bench.post("vedette.v1.FleetService/List", { fleet: "qa" });
    const pin = { id: "qa-pin", fleet: "qa", regions: ["eu"], reason };
    const added = await bench.post("vedette.v1.RolloutPins/Add", pin, "ada");

    expect([list.status, added.status]).toEqual([404, 404]);
  });
});

describe("a row of one fleet", () => {
  it("that is a pin holds for its sentinels alone", async () => {
    const pin = { id: "no-eu", fleet: "staging", regions: ["eu", "us", "ap"], reason };
    await bench.post("vedette.v1.RolloutPins/Add", pin);

    const { body: held } = await bench.callOf("staging", "Plan", halves);
    const { body: free } = await bench.callOf("production", "Plan", halves);
    const { body: listed } = await bench.post("vedette.v1.RolloutPins/List", {
      fleet: "production",
    });

    await bench.post("vedette.v1.RolloutPins/Remove", { id: "no-eu", reason });
    expect(held).toMatchObject({ total: 0, left_out_count: 4 });
    expect(free).toMatchObject({ total: 4, left_out_count: 0 });
    expect(listed).toEqual({ pins: [] });
  });

  it("that is a freeze keeps its rollouts, and its removal starts them", async () => {
    const freeze = { id: "stop-staging", fleet: "staging", kind: "freeze", reason };
    await bench.post("vedette.v1.RolloutWindows/Add", freeze);

    const waiting = bench.callOf("staging", "Rollout", halves);
    const other = await bench.callOf("production", "Rollout", halves);
    const waits = async () =>
      (await bench.callOf("staging", "Status")).body["waiting_for"] === "window";
    await waitFor(waits, { withinMs: 10_000, what: "the wait for the window" });
    await bench.post("vedette.v1.RolloutWindows/Remove", { id: "stop-staging", reason });

    expect(other.body).toMatchObject({ state: "completed" });
    expect((await waiting).body).toMatchObject({ state: "completed" });
  });

  it("is changed by the fleet's operators only, and so is one of all fleets", async () => {
    const pin = (id: string, fleet?: string) => ({
      id,
      ...(fleet && { fleet }),
      regions: ["eu"],
      reason,
    });
    const add = (row: object, by: string) => bench.post("vedette.v1.RolloutPins/Add", row, by);

    const answers = [
      await add(pin("p1", "production"), "ben"),
      await add(pin("p1"), "ben"),
      await add(pin("p1", "staging"), "ben"),
      await add(pin("p2", "production"), "ada"),
      await bench.post("vedette.v1.RolloutPins/Remove", { id: "p2", reason }, "ben"),
    ];
    await bench.post("vedette.v1.RolloutPins/Remove", { id: "p1", reason }, "ben");
    const removed = await bench.post("vedette.v1.RolloutPins/Remove", { id: "p2", reason }, "ada");

    expect(answers.map(({ status }) => status)).toEqual([403, 403, 200, 200, 403]);
    expect(removed.status).toBe(200);
  });
});

describe("a promotion", () => {
  const stagingFirst = { id: "staging-first", fleet: "production", after: "staging", reason };
  const promotions = (handler: string, body: object) =>
    bench.post(`vedette.v1.RolloutPromotions/${handler}`, body, "ada");

  beforeEach(async () => {
    await promotions("Remove", { id: "staging-first", reason });
    await promotions("Add", stagingFirst);
  });

  afterAll(() => promotions("Remove", { id: "staging-first", reason }));

  const image = "registry.example.com/vedette/sentinel:v9";

  it("keeps an image from a fleet until the other one has completed it", async () => {
    const { body: plan } = await bench.callOf("production", "Plan", { image });
    const early = await bench.callOf("production", "Rollout", { image });
    await bench.callOf("staging", "Rollout", { image });
    const late = await bench.callOf("production", "Rollout", { image });

    expect(plan["hindrances"]).toEqual(["staging has not completed it"]);
    expect(early.status).toBe(409);
    expect(early.body["message"]).toContain("staging has not completed it");
    expect(late.body).toMatchObject({ state: "completed" });
  });

  it("keeps it while the other fleet's rollout is paused, and after it was cancelled", async () => {
    const bad = `${image}0`;
    staging.behave(failing(["s01", "s02", "s03", "s04"]));
    await bench.callOf("staging", "Rollout", { image: bad, wave_percentages: [50, 100] });
    const paused = await bench.callOf("production", "Rollout", { image: bad });
    await bench.callOf("staging", "Cancel");
    const cancelled = await bench.callOf("production", "Rollout", { image: bad });

    expect(paused.body["message"]).toContain("its rollout to staging is paused");
    expect(cancelled.status).toBe(409);
    expect(cancelled.body["message"]).toContain("its rollout to staging is cancelled");
  });

  it("counts a rollout of before, whatever the other fleet took since", async () => {
    const older = `${image}1`;
    await bench.callOf("staging", "Rollout", { image: older });
    await bench.callOf("staging", "Rollout", { image: `${image}2` });

    // History is written after the rollout has ended.
    const start = async () => {
      const answer = await bench.callOf("production", "Rollout", { image: older });
      return answer.status === 200 && answer;
    };
    const { body } = await waitFor(start, { withinMs: 10_000, what: "the rollout in history" });

    expect(body).toMatchObject({ state: "completed" });
  });

  it("that would close a circle is refused, as is one of a fleet with itself", async () => {
    const back = { id: "back", fleet: "staging", after: "production", reason };

    const circle = await promotions("Add", back);
    const itself = await promotions("Add", { ...back, after: "staging" });

    expect([circle.status, itself.status]).toEqual([409, 400]);
    expect(circle.body["message"]).toContain("neither could start a rollout");
  });
});
