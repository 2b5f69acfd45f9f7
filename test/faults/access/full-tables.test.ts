/** Operators of one fleet fill a table of rows, and leave those of another room for a freeze of their own. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMemoryFleet } from "../../support/rollout/memory-fleet.ts";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";

let bench: RolloutBench;

beforeAll(async () => {
  bench = await startRolloutBench({
    size: 1,
    fleets: { staging: createMemoryFleet(1), production: createMemoryFleet(1) },
    operators: { production: ["ada"] },
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
