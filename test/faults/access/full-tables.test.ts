/** Operators of one fleet fill a table of rows, and leave those of another room for rows of their own. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMemoryFleet } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";

let bench: RolloutBench;

beforeAll(async () => {
  bench = await startRolloutBench({
    size: 1,
    fleets: {
      staging: createMemoryFleet(1),
      production: createMemoryFleet(1),
      late: createMemoryFleet(1),
    },
    operators: { production: ["ada", "eve"], late: ["bob", "eve"] },
  });
});

afterAll(() => bench?.stop());

const reason = "a test";

const tables: [name: string, most: number, row: (fleet: string) => object][] = [
  ["RolloutWindows", 50, (fleet) => ({ fleet, kind: "freeze", starts: "2031-01-01T00:00:00Z" })],
  ["RolloutPins", 200, (fleet) => ({ fleet, regions: ["eu"] })],
  ["RolloutPromotions", 100, (fleet) => ({ fleet, after: "singleton" })],
];

it.each(tables)("%s that are full for one fleet take a row of another", async (name, most, row) => {
  const add = (id: string, fleet: string, by: string) =>
    bench.post(`vedette.v1.${name}/Add`, { id, reason, ...row(fleet) }, by);
  for (let n = 0; n < most; n += 1) await add(`r-${n}`, "staging", "bob");

  const more = await add("one-more", "staging", "bob");
  const again = await add("r-0", "staging", "bob");
  const foreign = await add("own-1", "production", "bob");
  const own = await add("own-2", "production", "ada");

  expect([more.status, again.status, foreign.status, own.status]).toEqual([409, 200, 403, 200]);
  expect(more.body["message"]).toContain(`there are ${most}`);
  expect(more.body["message"]).toContain("of the fleet staging already");
});

it("a promotion takes an operator of both fleets, and closes no circle", async () => {
  const add = (fleet: string, after: string, by: string) =>
    bench.post("vedette.v1.RolloutPromotions/Add", { id: `by-${by}`, fleet, after, reason }, by);

  const foreign = [await add("late", "production", "bob"), await add("production", "late", "ada")];
  const own = await add("production", "late", "eve");
  const circle = await bench.post(
    "vedette.v1.RolloutPromotions/Add",
    { id: "back", fleet: "late", after: "production", reason },
    "eve",
  );

  expect([...foreign, own, circle].map(({ status }) => status)).toEqual([403, 403, 200, 409]);
  expect(foreign[0]?.body["message"]).toContain("bob is no operator of the fleet production");
  expect(circle.body["message"]).toContain("production waits for late already");
});

it("the log of a sentinel is for operators of its fleet", async () => {
  const log = (by: string) =>
    bench.post("vedette.v1.FleetService/Log", { sentinel: "production:gw-1" }, by);

  const answers = [await log("bob"), await log("ada")];

  expect(answers.map(({ body }) => body["message"])).toEqual([
    expect.stringContaining("bob is no operator of the fleet production"),
    expect.stringContaining("there is no sentinel"),
  ]);
});
