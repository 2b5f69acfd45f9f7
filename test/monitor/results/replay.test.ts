import type { Context } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import type { Database } from "#kernel/database.ts";
import { readNow } from "#kernel/read-now.ts";
import { replayCheck } from "#monitor/results/replay.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";

const ctx = {
  run: (_name: string, step: () => Promise<unknown>) => step(),
  console: { warn: () => {} },
} as unknown as Context;

const reading = { name: "replay-check", describe: () => "the results cannot be read now" };

/** Answers each query in the next turn of the event loop, and counts them. */
function replayOf(request: { hours: number }) {
  const counted = { queries: 0, ended: Promise.resolve<unknown>(undefined) };
  const query = () => {
    counted.queries += 1;
    return new Promise((resolve) => setImmediate(() => resolve({ rows: [] })));
  };
  const parts = {
    database: { query } as unknown as Database,
    readDefinitions: always({ apiChecks: [anApiCheck({ id: "probe" })] }),
    ...{ failedAtPercent: 0, nowMs: () => Date.UTC(2026, 0, 1) },
  };
  const read = (signal: AbortSignal) => {
    const replay = replayCheck(parts, { check: "probe", ...request }, signal);
    counted.ended = replay.catch(() => {});
    return replay;
  };
  return { counted, read };
}

it("a replay reads no further results after its time limit", async () => {
  const { counted, read } = replayOf({ hours: 9_600 });

  await expect(readNow(ctx, { ...reading, limitMs: 1 }, read)).rejects.toMatchObject({
    code: "unavailable",
  });
  const queriesAtLimit = counted.queries;
  await counted.ended;

  expect(counted.queries - queriesAtLimit).toBeLessThanOrEqual(1);
});

it("a replay within its time limit reads the whole span", async () => {
  const { counted, read } = replayOf({ hours: 9_600 });

  const replay = await readNow(ctx, { ...reading, limitMs: 60_000 }, read);

  expect(replay).toMatchObject({ check: "probe", runs: 0 });
  expect(counted.queries).toBe(1 + 9_600 / 6);
});
