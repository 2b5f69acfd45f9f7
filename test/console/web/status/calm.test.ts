/** What the first page says while nothing is known to be down. */
import { expect, it } from "vitest";
import { calmWords } from "#console/web/status/calm.ts";
import type { StatusView } from "#status/contract.ts";

const taken_at = "2026-11-28T02:00:00.000Z";

function wordsOf(isListed: boolean, asked_at: string | null) {
  const overview = {
    total: 6,
    choices: { health: [{ value: "healthy", count: 6 }] },
    list: { asked_at },
  };
  const fleets = [{ name: "own", overview }] as unknown as StatusView["fleets"];
  const old = { about: "fleet_list", fleet: "own" } as StatusView["wrong"][number];
  return calmWords({ fleets, wrong: isListed ? [] : [old], taken_at }, "own");
}

it("a fleet that is listed counts its healthy sentinels", () => {
  expect(wordsOf(true, taken_at)).toBe(
    "No customer is hurt as far as is known: 6 of 6 sentinels are healthy, none is down, and no check alerts.",
  );
});

it("a fleet whose newest list has failed claims no health", () => {
  expect(wordsOf(false, "2026-11-28T01:58:00.000Z")).toBe(
    "Nobody knows now whether customers are hurt: the health of 6 of 6 sentinels is not known, last read 2 min ago.",
  );
});

it("a fleet that was never listed says so", () => {
  expect(wordsOf(false, null)).toMatch(
    /the health of 6 of 6 sentinels is not known, never read\.$/,
  );
});
