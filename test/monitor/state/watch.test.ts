/** The loop that decides what is due. */
import { expect, it, onTestFinished } from "vitest";
import { createLog } from "#kernel/log.ts";
import { watchStates } from "#monitor/start.ts";

/** Runs a loop on these states, turn by turn: each of its pauses lasts until `turn`. */
function startWatch() {
  const calls: string[] = [];
  const database = { isAway: false, nowMs: 1_000_000, due: 0, inMs: null as number | null };
  const pauses: number[] = [];
  const decidedUntil: number[] = [];
  let resume = Promise.withResolvers<void>();
  let paused = Promise.withResolvers<void>();
  const ask = (name: string) => {
    calls.push(name);
    if (database.isAway) throw new Error("connection refused");
  };
  const watch = watchStates({
    states: {
      decideDue: async () => {
        ask("decideDue");
        return Math.max(0, database.due--);
      },
      decideWaiting: async () => ask("decideWaiting"),
      decideAll: async () => ask("decideAll"),
      untilNext: async () => {
        ask("untilNext");
        return { inMs: database.inMs, nowMs: database.nowMs + performance.now() };
      },
    },
    outage: {
      failed: () => void calls.push("failed"),
      over: async () => ask("over"),
      settled: () => {},
      allDecided: (atMs) => void decidedUntil.push(Math.round(atMs - performance.now())),
    },
    log: createLog({ level: "silent", format: "json" }),
    pause: async (ms) => {
      pauses.push(ms);
      paused.resolve();
      await resume.promise;
    },
  });
  onTestFinished(() => {
    const stopped = watch.stop();
    resume.resolve();
    return stopped;
  });
  return {
    database,
    calls,
    pauses,
    decidedUntil,
    untilPaused: () => paused.promise,
    /** Returns the calls of the next turn. */
    turn: async () => {
      await paused.promise;
      calls.length = 0;
      const go = resume;
      [resume, paused] = [Promise.withResolvers(), Promise.withResolvers()];
      go.resolve();
      await paused.promise;
      return [...calls];
    },
  };
}

it("takes pings that wait when it starts, and not with each turn", async () => {
  const watch = startWatch();
  await watch.untilPaused();
  const first = [...watch.calls];

  const next = await watch.turn();

  expect(first).toEqual(["decideDue", "decideWaiting", "untilNext"]);
  expect(next).toEqual(["decideDue", "untilNext"]);
});

it("decides all that is due without a pause", async () => {
  const watch = startWatch();
  await watch.untilPaused();
  watch.database.due = 2;

  const calls = await watch.turn();

  expect(calls).toEqual(["decideDue", "decideDue", "decideDue", "untilNext"]);
});

it.each([
  ["none is due", null, 1_000],
  ["the next one is due much later", 60_000, 1_000],
  ["the next one is due soon", 300, 300],
  ["the next one is due at once", 0, 20],
])("pauses when %s", async (_, inMs, pauseMs) => {
  const watch = startWatch();
  watch.database.inMs = inMs;

  await watch.untilPaused();
  await watch.turn();

  expect(watch.pauses.at(-1)).toBe(pauseMs);
});

it.each([
  [-3_600_000, true],
  [-1_000, false],
  [3_600_000, false],
])("when the clock moves by %i ms all is decided anew: %s", async (byMs, isDecided) => {
  const watch = startWatch();
  await watch.untilPaused();
  watch.database.nowMs += byMs;

  const calls = [...(await watch.turn()), ...(await watch.turn())];

  expect(calls.filter((name) => name === "decideAll")).toHaveLength(isDecided ? 1 : 0);
});

it("hands back what was decided in an outage before it decides anything", async () => {
  const watch = startWatch();
  await watch.untilPaused();
  watch.database.isAway = true;

  const during = [await watch.turn(), await watch.turn()];
  watch.database.isAway = false;
  const after = [await watch.turn(), await watch.turn()];

  expect(during).toEqual([
    ["decideDue", "failed"],
    ["untilNext", "failed"],
  ]);
  expect(after).toEqual([
    ["untilNext", "over", "decideDue", "untilNext"],
    ["decideDue", "untilNext"],
  ]);
});

it("says up to when all is decided, unless a row is still due that another process has", async () => {
  const watch = startWatch();
  watch.database.inMs = -5;
  await watch.untilPaused();
  const locked = [...watch.decidedUntil];
  watch.database.inMs = 5;

  await watch.turn();

  expect([locked, watch.decidedUntil]).toEqual([[], [watch.database.nowMs]]);
});
