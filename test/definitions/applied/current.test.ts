import { pino } from "pino";
import { expect, it } from "vitest";
import { createCurrentDefinitions } from "#definitions/applied/current.ts";
import type { Revision } from "#definitions/applied/store.ts";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import type { HowFresh } from "#monitor/contract.ts";

const setOf = (...ids: string[]): DefinitionSet => ({
  ...emptySet,
  checks: ids.map((id) => CheckRow.parse({ id, path: "/" })),
});
const standard = setOf("standard");

function startBench() {
  const clock = { ms: 1_000_000 };
  const database = {
    current: null as Pick<Revision, "applyId" | "set"> | Error | null,
    reads: 0,
    /** What it answers is of the moment of the question. */
    answers: Promise.resolve(),
  };
  const read = () => {
    database.reads += 1;
    if (database.current instanceof Error) throw database.current;
    return database.current;
  };
  const definitions = createCurrentDefinitions({
    store: {
      readApplyId: async () => {
        const found = read();
        await database.answers;
        return found?.applyId ?? null;
      },
      readCurrent: async () => read() as Revision | null,
    },
    standard,
    complete: (monitored) => monitored,
    log: pino({ level: "silent" }),
    nowMs: () => clock.ms,
  });
  const ids = async (how?: HowFresh) =>
    (await definitions.readMonitored(how)).apiChecks.map(({ id }) => id);
  return { clock, database, ids };
}

it("the reader answers the standard rows until others are applied, which it knows within a second", async () => {
  const { clock, database, ids } = startBench();

  const first = await ids();
  database.current = { applyId: "1", set: setOf("shop") };
  const atOnce = await ids();
  clock.ms += 1_000;

  expect([first, atOnce, await ids()]).toEqual([["standard"], ["standard"], ["shop"]]);
});

it("the reader answers fresh rows to callers that ask for them", async () => {
  const { database, ids } = startBench();
  await ids();

  database.current = { applyId: "1", set: setOf("shop") };

  expect(await ids({ isFresh: true })).toEqual(["shop"]);
});

it("the reader answers the last known ones while the database is away, but not as fresh", async () => {
  const { clock, database, ids } = startBench();
  database.current = { applyId: "1", set: setOf("shop") };
  await ids();

  database.current = new Error("no database");
  clock.ms += 60_000;

  expect(await ids()).toEqual(["shop"]);
  await expect(ids({ isFresh: true })).rejects.toThrow("no database");
});

it("the reader answers a caller that takes the last known ones while the database is silent, within a second", async () => {
  const { database, ids } = startBench();
  database.current = { applyId: "1", set: setOf("shop") };
  await ids();
  const answer = Promise.withResolvers<void>();
  database.answers = answer.promise;
  database.current = { applyId: "2", set: setOf("bar") };

  const silent = await ids({ isFresh: true, orKnown: true });
  answer.resolve();

  expect([silent, await ids({ isFresh: true, orKnown: true })]).toEqual([["shop"], ["bar"]]);
  database.current = new Error("no database");
  expect(await ids({ isFresh: true, orKnown: true })).toEqual(["bar"]);
});

it("the reader reads the rows of a revision once, and one look serves all who wait", async () => {
  const { clock, database, ids } = startBench();
  database.current = { applyId: "1", set: setOf("shop") };
  await Promise.all([ids(), ids(), ids()]);
  const reads = database.reads;

  clock.ms += 5_000;
  await Promise.all([ids(), ids()]);

  expect([reads, database.reads]).toEqual([2, 3]);
});

it("one look serves all who ask for those of this moment at once, and none who asks while it is on its way", async () => {
  const { database, ids } = startBench();
  database.current = { applyId: "1", set: setOf("shop") };
  await ids();
  const before = database.reads;
  const look = Promise.withResolvers<void>();
  database.answers = look.promise;

  const first = Array.from({ length: 100 }, () => ids({ isFresh: true }));
  await expect.poll(() => database.reads - before).toBe(1);
  database.current = { applyId: "2", set: setOf("bar") };
  const later = ids({ isFresh: true });
  look.resolve();

  expect(await Promise.all(first)).toEqual(first.map(() => ["shop"]));
  expect(await later).toEqual(["bar"]);
  // The id once for each look, and the rows that have changed.
  expect(database.reads - before).toBe(3);
});
