import { expect, it } from "vitest";
import type { CountedMinute } from "#fleet/counters/counters.ts";
import { type Reading, recordMinute } from "#fleet/counters/recorder.ts";

const minute = 60_000;

function createParts({ claimed = new Set<number>() } = {}) {
  const written: { minute: number; counted: CountedMinute }[] = [];
  let requests = 100;
  return {
    written,
    fleet: "singleton",
    read: async () => {
      requests += 10;
      return new Map([["gw-1", { requests, errors: 0 }]]);
    },
    store: {
      claim: async (_: string, at: number) => !claimed.has(at) && claimed.add(at) !== undefined,
      write: async (_: string, at: number, counted: CountedMinute) => {
        written.push({ minute: at, counted });
      },
      readHour: async () => [],
    },
  };
}

const signal = new AbortController().signal;

it("a minute is recorded under its start, from two readings", async () => {
  const parts = createParts();

  const first = await recordMinute(parts, { at: minute, before: undefined, signal });
  await recordMinute(parts, { at: 2 * minute, before: first, signal });

  expect(parts.written).toMatchObject([{ minute, counted: { ids: ["gw-1"], requests: 10 } }]);
});

it("a minute that another process has claimed is neither read nor recorded", async () => {
  const parts = createParts({ claimed: new Set([minute]) });
  const before: Reading = { at: minute, snapshot: new Map(), bounds: [0] };

  const reading = await recordMinute(parts, { at: 2 * minute, before, signal });

  expect(reading).toBeUndefined();
  expect(parts.written).toEqual([]);
});
