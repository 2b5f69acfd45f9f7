/** What checks found, kept in a real Postgres. */
import { Registry } from "prom-client";
import { beforeEach, describe, expect, it } from "vitest";
import type { AlertTransition } from "#alerts/contract.ts";
import { inTransaction } from "#kernel/database.ts";
import type { CheckResult } from "#monitor/contract.ts";
import type { SuppressionSpan } from "#monitor/related.ts";
import { saveEpisodes } from "#monitor/results/episodes.ts";
import { createReadGate } from "#monitor/results/gate.ts";
import { countRecords } from "#monitor/results/metrics.ts";
import { managePartitions } from "#monitor/results/partitions.ts";
import { createResultReader } from "#monitor/results/read.ts";
import { savePings, writeEffects } from "#monitor/results/record.ts";
import { runUpkeep } from "#monitor/results/upkeep.ts";
import { readAlertTime, readDays } from "#monitor/results/uptime.ts";
import { newHeartbeatState } from "#monitor/rules/deadline.ts";
import { type Effects, newEffects, newHeartbeatRow } from "#monitor/state/row.ts";
import { aCheckResult } from "../../../support/monitor/check-builders.ts";
import { anApiRow, saveRecords, saveRow } from "../../../support/monitor/check-rows.ts";
import { always } from "../../../support/monitor/standard-definitions.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const noon = Date.UTC(2026, 4, 31, 12);
/** By the database's own clock, too. */
const past = Date.UTC(2015, 4, 31, 12);

const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query(
    "TRUNCATE check_results, check_rollups, check_rollup_marks, check_missed_ticks, check_episodes, check_suppressions, check_states",
  );
});

const write = (effects: Partial<Effects>) => saveRecords(database(), effects);
const deliver = (event: AlertTransition, deliveredAtMs: number) =>
  saveEpisodes(database(), [{ event, deliveredAtMs }]);
const reader = () => createResultReader(database(), { failedAtPercent: 0 });
const days = { resultDays: 30, minuteDays: 30, hourDays: 400, stateDays: 400 };
const settings = { failedAtPercent: 0, ...days };
const keep = (nowMs: number) =>
  runUpkeep({ database: database(), settings, deleteRemoved: async () => {}, nowMs: () => nowMs });

/** One result a minute at each location, from `fromMs` on. */
function everyMinute(count: number, fromMs: number, changes: Partial<CheckResult> = {}) {
  return Array.from({ length: count }, (_, i) =>
    aCheckResult({ ...changes, scheduledAtMs: fromMs + i * minute, durationMs: i + 1 }),
  );
}

function aTransition(changes: Partial<AlertTransition> = {}): AlertTransition {
  return {
    kind: "opened",
    eventId: "verify-key:1:opened",
    checkId: "verify-key",
    episode: 1,
    atMs: noon,
    openedAtMs: noon,
    reason: "local: connection refused",
    locations: ["local"],
    missedPings: null,
    rollout: null,
    ...changes,
  };
}

async function partitions(): Promise<string[]> {
  const { rows } = await database().query(
    "SELECT relname FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE inhparent = 'check_results'::regclass ORDER BY 1",
  );
  return rows.map((row) => row.relname);
}

describe("partitions", () => {
  it("are made for the last, this and the next two months", async () => {
    await managePartitions(database(), { nowMs: noon, keepDays: 40 });

    expect(await partitions()).toEqual(
      expect.arrayContaining([
        "check_results_2026_04",
        "check_results_2026_05",
        "check_results_2026_06",
        "check_results_2026_07",
      ]),
    );
  });

  it("are dropped when all their rows are too old, and not before", async () => {
    await write({ results: [aCheckResult({ scheduledAtMs: Date.UTC(2020, 0, 31) })] });
    const nowMs = Date.UTC(2020, 2, 1);

    await managePartitions(database(), { nowMs, keepDays: 30 });
    const before = await partitions();
    await managePartitions(database(), { nowMs: nowMs + 3 * day, keepDays: 30 });

    expect(before).toContain("check_results_2020_01");
    expect(await partitions()).not.toContain("check_results_2020_01");
  });

  it("are made by several processes at once", async () => {
    const nowMs = Date.UTC(2031, 5, 5);

    await Promise.all(
      [1, 2, 3, 4].map(() => managePartitions(database(), { nowMs, keepDays: 36_500 })),
    );

    expect(await partitions()).toContain("check_results_2031_06");
  });

  it("a result of a month that has none makes it", async () => {
    await write({ results: [aCheckResult({ scheduledAtMs: Date.UTC(2035, 7, 1) })] });

    expect(await partitions()).toContain("check_results_2035_08");
  });

  it("pings of months that have none make them, and each ping has its result", async () => {
    const times = [Date.UTC(2034, 2, 31, 23, 59, 59, 999), Date.UTC(2034, 3, 1)];

    await savePings(
      database(),
      times.map((atMs) => ({ checkId: "nightly", atMs })),
    );

    const { rows } = await database().query(
      "SELECT scheduled_at, started_at, location, grade, duration_ms, status FROM check_results ORDER BY 1",
    );
    const like = { location: "ping", grade: "ok", duration_ms: 0, status: null };
    expect(rows).toEqual(
      times.map((ms) => ({ scheduled_at: new Date(ms), started_at: new Date(ms), ...like })),
    );
    expect(await partitions()).toEqual(
      expect.arrayContaining(["check_results_2034_03", "check_results_2034_04"]),
    );
  });

  it("are made for many concurrent writers that find none", async () => {
    const atMs = Date.UTC(2036, 2, 1);
    const places = Array.from({ length: 10 }, (_, i) => `place-${i}`);

    await Promise.all(
      places.map((location) => write({ results: everyMinute(1, atMs, { location }) })),
    );

    const { rows } = await database().query("SELECT count(*)::int AS n FROM check_results_2036_03");
    expect(rows[0].n).toBe(10);
  });
});

describe("history", () => {
  it("gives a result back as it was recorded", async () => {
    const phases = { dns: 1, connect: 2, tls: 3, firstByte: 4, transfer: null };
    const result = aCheckResult({
      scheduledAtMs: noon,
      startedAtMs: noon + 12,
      grade: "failed",
      cause: "assertion",
      durationMs: 10.5,
      phases,
      status: 503,
      reason: 'answered 503, "quoted"',
      tlsDaysLeft: 12,
    });

    await write({ results: [result] });

    expect((await reader().history({ check: "verify-key", limit: 10 })).results).toEqual([
      {
        scheduled_at: "2026-05-31T12:00:00.000Z",
        started_at: "2026-05-31T12:00:00.012Z",
        location: "local",
        grade: "failed",
        cause: "assertion",
        duration_ms: 10.5,
        dns_ms: 1,
        connect_ms: 2,
        tls_ms: 3,
        first_byte_ms: 4,
        transfer_ms: null,
        status: 503,
        reason: 'answered 503, "quoted"',
        tls_days_left: 12,
      },
    ]);
  });

  it("a result that is recorded twice is stored once, as it was first", async () => {
    await write({ results: [aCheckResult({ scheduledAtMs: noon })] });
    await write({ results: [aCheckResult({ scheduledAtMs: noon, grade: "failed" })] });

    const { results } = await reader().history({ check: "verify-key", limit: 10 });

    expect(results.map(({ grade }) => grade)).toEqual(["ok"]);
  });

  it("is read page by page, newest first, each result once", async () => {
    const places = ["ams", "fra", "iad"];
    await write({ results: places.flatMap((location) => everyMinute(5, noon, { location })) });
    const seen: string[] = [];
    let before: string | undefined;

    do {
      const request = { check: "verify-key", limit: 4, ...(before !== undefined && { before }) };
      const page = await reader().history(request);
      seen.push(...page.results.map((row) => `${row.scheduled_at} ${row.location}`));
      before = page.next;
    } while (before !== undefined);

    expect(seen).toHaveLength(15);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });

  it.each(["-200000-01-01T00:00:00Z/fra", "0000-01-01T00:00:00Z/fra", "2026-01-01T00:00:00Z/a\0b"])(
    "begins at the newest with %j, which is no cursor",
    async (before) => {
      await write({ results: everyMinute(2, noon) });

      const { results } = await reader().history({ check: "verify-key", limit: 10, before });

      expect(results).toHaveLength(2);
    },
  );

  it("is narrowed to a location, a grade and a time", async () => {
    await write({
      results: [
        ...everyMinute(3, noon, { location: "fra", grade: "failed" }),
        ...everyMinute(3, noon, { location: "iad" }),
      ],
    });

    const { results } = await reader().history({
      check: "verify-key",
      limit: 10,
      location: "fra",
      grade: "failed",
      since: new Date(noon + minute).toISOString(),
    });

    expect(results.map((row) => row.scheduled_at.slice(11, 16))).toEqual(["12:02", "12:01"]);
  });
});

describe("charts", () => {
  const chartOf = (hours: number, nowMs: number, location?: string) =>
    reader().chart(
      { check: "verify-key", hours, ...(location !== undefined && { location }) },
      nowMs,
    );

  it("have percentiles over all locations, by the minute", async () => {
    const results = Array.from({ length: 100 }, (_, i) =>
      aCheckResult({ scheduledAtMs: noon, location: `place-${i}`, durationMs: i + 1 }),
    );
    await write({ results: results });

    const { bucket_seconds, points } = await chartOf(1, noon + 30_000);

    expect(bucket_seconds).toBe(60);
    expect(points).toHaveLength(1);
    expect(points[0]).toMatchObject({ results: 100, p50_ms: 50.5, max_ms: 100 });
    expect(points[0]?.p95_ms).toBeCloseTo(95.05, 1);
    expect(points[0]?.p99_ms).toBeCloseTo(99.01, 1);
  });

  it("have the mean of each phase", async () => {
    const phases = { dns: null, connect: null, tls: null, firstByte: 10, transfer: null };
    await write({
      results: [
        aCheckResult({ scheduledAtMs: noon, location: "a", phases }),
        aCheckResult({ scheduledAtMs: noon, location: "b", phases: { ...phases, firstByte: 20 } }),
      ],
    });

    expect((await chartOf(1, noon)).points[0]).toMatchObject({ first_byte_ms: 15, tls_ms: null });
  });

  it("are the same from minutes that were made as from the results", async () => {
    await write({ results: everyMinute(90, noon) });
    const nowMs = noon + 90 * minute;
    const live = await chartOf(6, nowMs);

    await keep(nowMs);

    expect(live.points).toHaveLength(90);
    expect(await chartOf(6, nowMs)).toEqual(live);
  });

  it("of more than two days are made of hours", async () => {
    await write({ results: everyMinute(180, noon) });

    await keep(noon + 3 * hour);
    const { bucket_seconds, points } = await chartOf(72, noon + 3 * hour);

    expect(bucket_seconds).toBe(3600);
    expect(points.map((point) => point.results)).toEqual([60, 60, 60]);
  });

  it("up to a time of the past leave out what came later, from minutes as from results", async () => {
    await write({ results: everyMinute(90, noon) });
    const until = new Date(noon + 20 * minute).toISOString();
    const read = (nowMs: number) => reader().chart({ check: "verify-key", hours: 1, until }, nowMs);
    const live = await read(noon + 90 * minute);

    await keep(noon + 90 * minute);

    expect(live.points.map(({ starts_at }) => starts_at.slice(11, 16)).at(-1)).toBe("12:20");
    expect(live.points).toHaveLength(21);
    expect(await read(noon + 90 * minute)).toEqual(live);
  });

  it("up to a time whose minutes are gone are made of hours", async () => {
    await write({ results: everyMinute(60, past) });
    await keep(past + hour);
    await write({ results: everyMinute(1, past + 89 * day) });
    await keep(past + 89 * day + hour);
    await keep(past + 90 * day);
    const until = new Date(past + hour).toISOString();

    const old = await reader().chart({ check: "verify-key", hours: 2, until }, past + 90 * day);

    expect(old.bucket_seconds).toBe(3600);
    expect(old.points.map(({ results }) => results)).toEqual([60]);
  });

  it("of one location leave the others out", async () => {
    await write({ results: everyMinute(10, noon, { location: "fra" }) });
    await write({ results: everyMinute(10, noon, { location: "iad" }) });
    await keep(noon + hour);

    const { points } = await chartOf(2, noon + hour, "fra");

    expect(points.map((point) => point.results)).toEqual(Array(10).fill(1));
  });

  it("include results that came late, after the minutes were made", async () => {
    await write({ results: everyMinute(10, noon, { location: "fra" }) });
    await keep(noon + 11 * minute);
    await write({ results: everyMinute(10, noon, { location: "iad" }) });

    await keep(noon + 13 * minute);

    const { points } = await chartOf(1, noon + 13 * minute);
    expect(points.map((point) => point.results).slice(1)).toEqual(Array(9).fill(2));
  });

  it("have no gap after a clock was a day ahead when they were made", async () => {
    await write({ results: everyMinute(30, noon) });
    await keep(noon + 30 * minute);
    await keep(noon + day);
    await write({ results: everyMinute(60, noon + 30 * minute) });
    const nowMs = noon + 90 * minute;

    await keep(nowMs);
    await keep(noon + 2 * day);

    const { rows } = await database().query(
      "SELECT count(*)::int AS n FROM check_rollups WHERE bucket_seconds = 60",
    );
    expect(rows[0].n).toBe(90);
    const hours = (await chartOf(72, noon + 2 * day)).points.map(({ results }) => results);
    expect(hours).toEqual([60, 30]);
  });

  it("begin at the oldest result", async () => {
    const untilMs = async () => {
      const { rows } = await database().query("SELECT done_until FROM check_rollup_marks");
      return rows.map(({ done_until }) => done_until.getTime());
    };
    await keep(noon);
    expect(await untilMs()).toEqual([]);
    await write({ results: everyMinute(60, noon - 20 * day) });

    await keep(noon);

    expect(await untilMs()).toEqual([noon, noon, noon]);
    expect((await chartOf(24 * 30, noon)).points.map(({ results }) => results)).toEqual([60]);
  });

  it("last longer than the results they are made of", async () => {
    await write({ results: everyMinute(60, past) });
    await keep(past + hour);
    await write({ results: everyMinute(1, past + 89 * day) });
    await keep(past + 89 * day + hour);

    await keep(past + 90 * day);

    expect((await chartOf(24 * 100, past + 90 * day)).points).toHaveLength(2);
    expect((await reader().history({ check: "verify-key", limit: 9 })).results).toHaveLength(1);
  });

  it("and results are not lost to a clock that is years ahead for a while", async () => {
    await write({ results: everyMinute(60, past) });
    await keep(past + hour);
    const aheadMs = past + 2 * 365 * day;

    await keep(aheadMs);
    await write({ results: everyMinute(60, aheadMs) });
    await keep(aheadMs + 3 * hour);

    const { rows } = await database().query(
      `SELECT count(*)::int AS results, (SELECT count(*)::int FROM check_rollups
         WHERE starts_at < $1 AND bucket_seconds = 60) AS minutes
       FROM check_results WHERE scheduled_at < $1`,
      [new Date(past + day)],
    );
    expect(rows[0]).toEqual({ results: 60, minutes: 60 });
  });
});

describe("the last 24 hours", () => {
  const daysAt = (nowMs: number, failedAtPercent = 0) =>
    readDays(database(), { nowMs, failedAtPercent, hasStrips: true });

  it("uptime is the share of runs that did not fail anywhere", async () => {
    await write({
      results: [
        ...everyMinute(8, noon, { location: "fra" }),
        ...everyMinute(8, noon, { location: "iad" }),
        aCheckResult({ scheduledAtMs: noon + 8 * minute, location: "fra", grade: "failed" }),
        aCheckResult({ scheduledAtMs: noon + 8 * minute, location: "iad" }),
        aCheckResult({ scheduledAtMs: noon + 9 * minute, location: "fra", grade: "degraded" }),
      ],
    });

    expect((await daysAt(noon + hour)).get("verify-key")?.runUptime).toBeCloseTo(90);
  });

  it("follows the quorum of the settings", async () => {
    await write({
      results: [
        aCheckResult({ scheduledAtMs: noon, location: "fra", grade: "failed" }),
        aCheckResult({ scheduledAtMs: noon, location: "iad" }),
      ],
    });

    expect((await daysAt(noon + hour, 100)).get("verify-key")?.runUptime).toBe(100);
    expect((await daysAt(noon + hour, 50)).get("verify-key")?.runUptime).toBe(0);
  });

  it("the strip has 96 pieces with the worst grade of each, and nothing where nothing ran", async () => {
    await write({
      results: [
        ...everyMinute(5, noon),
        aCheckResult({ scheduledAtMs: noon + 20 * minute, grade: "failed" }),
        aCheckResult({ scheduledAtMs: noon + 40 * minute, grade: "degraded" }),
      ],
    });

    const strip = (await daysAt(noon + 45 * minute)).get("verify-key")?.strip ?? [];

    expect(strip).toHaveLength(96);
    expect(strip.slice(-5).map(({ grade }) => grade)).toEqual([
      null,
      "ok",
      "failed",
      "degraded",
      null,
    ]);
  });

  it("is the same before and after minutes are made of it", async () => {
    await write({ results: everyMinute(600, noon) });
    const nowMs = noon + 10 * hour;
    const live = await daysAt(nowMs);

    await keep(nowMs);

    expect(await daysAt(nowMs)).toEqual(live);
  });

  it("has the same uptime without strips, from quarters of an hour, minutes and results", async () => {
    await write({ results: everyMinute(20, noon) });
    await write({ results: everyMinute(30, noon + 20 * minute, { grade: "failed" }) });
    const nowMs = noon + 49 * minute;
    const read = () => readDays(database(), { nowMs, failedAtPercent: 0, hasStrips: false });
    const day = { strip: [], runUptime: 40 };
    const live = await read();

    await keep(nowMs);

    expect([...live]).toEqual([["verify-key", day]]);
    expect(await read()).toEqual(live);
    expect((await daysAt(nowMs)).get("verify-key")?.runUptime).toBe(40);
  });

  it("the time with an open alert counts from when it opened, or from a day ago", async () => {
    await write({ transitions: [aTransition({ openedAtMs: noon })] });

    expect((await readAlertTime(database(), noon + 6 * hour)).get("verify-key")).toBeCloseTo(75);
    expect((await readAlertTime(database(), noon + 48 * hour)).get("verify-key")).toBeCloseTo(0);
  });

  it("the time with an open alert is a share of the time since the heartbeat was registered", async () => {
    const state = newHeartbeatState(noon - 2 * hour);
    await saveRow(database(), "nightly", { ...newHeartbeatRow(), state });
    await write({ transitions: [aTransition({ checkId: "nightly", openedAtMs: noon })] });

    const percents = await readAlertTime(database(), noon + 6 * hour);

    expect(percents.get("nightly")).toBeCloseTo(25);
  });
});

describe("the count of runs", () => {
  it("has each run of a location once, however often it is reported", async () => {
    const registry = new Registry();
    const counters = countRecords(registry, always({}));
    const count = async (results: CheckResult[]) => counters.written(await write({ results }));
    const results = ["fra", "iad", "sin"].map((location) =>
      aCheckResult({ scheduledAtMs: noon, location }),
    );

    for (const known of [1, 2, 3]) await count(results.slice(0, known));
    await Promise.all([count([...results, ...results]), count(results)]);

    const counts = (await registry.metrics()).match(/^vedette_check_runs_total.*$/gm);
    expect(counts).toEqual(
      ["fra", "iad", "sin"].map(
        (location) =>
          `vedette_check_runs_total{check="verify-key",location="${location}",grade="ok"} 1`,
      ),
    );
  });

  it("has missed ticks once", async () => {
    const registry = new Registry();
    const counters = countRecords(registry, always({}));
    const missed = [{ checkId: "verify-key", fromMs: noon, toMs: noon + minute, ticks: 2 }];

    counters.written(await write({ missed }));
    counters.written(await write({ missed: [...missed, ...missed] }));

    expect(await registry.metrics()).toContain(
      'vedette_check_missed_ticks_total{check="verify-key"} 2',
    );
  });
});

describe("what a decision records", () => {
  it("is stored although Postgres refuses its texts and numbers", async () => {
    const reason = "a\0b\ud83e";
    const result = aCheckResult({
      scheduledAtMs: noon,
      grade: "failed",
      reason,
      durationMs: 1e-300,
    });
    const suppression = { by: "database", sinceMs: noon, untilMs: null, reason };

    const { newResults } = await write({
      results: [result],
      transitions: [aTransition({ reason, locations: [reason] })],
      suppressions: [{ checkId: "verify-key", ...suppression }],
    });

    const stored = "a\ufffdb\ufffd";
    const [kept] = (await reader().history({ check: "verify-key", limit: 9 })).results;
    const { episodes, suppressions } = await reader().episodes({ limit: 9 });
    expect(newResults).toEqual([result]);
    expect(kept).toMatchObject({ reason: stored, duration_ms: 0 });
    expect(episodes[0]).toMatchObject({ reason: stored, locations: [stored] });
    expect(suppressions[0]?.reason).toBe(stored);
  });

  it("is written all or not at all, with the transaction of the decision", async () => {
    const results = [aCheckResult({ scheduledAtMs: noon })];
    const missed = [{ checkId: "verify-key", fromMs: noon, toMs: noon, ticks: 1 }];
    await managePartitions(database(), { nowMs: noon, keepDays: 30 });

    const failing = inTransaction(database(), async (transaction) => {
      await writeEffects(transaction, { ...newEffects(), results, missed });
      throw new Error("killed");
    });

    await expect(failing).rejects.toThrow("killed");
    expect(await write({ results, missed })).toEqual({ newResults: results, newMissed: missed });
  });

  it("of two processes that record the same is new to one of them", async () => {
    const results = everyMinute(50, noon);
    const both = await Promise.all([write({ results }), write({ results: results.toReversed() })]);

    expect(both.flatMap(({ newResults }) => newResults)).toHaveLength(50);
  });
});

describe("the gate of a rollout", () => {
  const failed = (changes: Partial<CheckResult> = {}) =>
    aCheckResult({ scheduledAtMs: noon, grade: "failed", reason: "refused", ...changes });
  const readGate = (failedAtPercent: number) =>
    createReadGate(database(), { failedAtPercent, findOwn: async () => [] })(
      ["verify-key", "liveness"],
      noon,
    );

  const decided = (decidedRunMs: number) =>
    saveRow(database(), "verify-key", anApiRow({ decidedRunMs }));

  it("the quorum applies to a decided run, not to the first reports", async () => {
    await decided(noon - minute);
    await write({ results: [failed()] });

    const whileOpen = await readGate(50);
    const ok = ["fra", "iad", "sin"].map((location) =>
      aCheckResult({ scheduledAtMs: noon, location }),
    );
    await write({ results: ok });
    await decided(noon);

    const none = { cleanRuns: 0, failedRun: null };
    expect(whileOpen).toEqual([
      { check: "verify-key", ...none },
      { check: "liveness", ...none },
    ]);
    expect(await readGate(50)).toEqual(whileOpen);
  });

  it("a decided run is failed when enough of the reporting locations failed", async () => {
    await decided(noon);
    await write({ results: [failed(), aCheckResult({ scheduledAtMs: noon, location: "fra" })] });

    const [report] = await readGate(50);

    expect(report?.failedRun).toMatchObject({ location: "local", reason: "refused" });
  });

  it("where any failure counts a run is failed with the first one, decided or not", async () => {
    await write({ results: [failed({ checkId: "liveness" })] });

    const [, liveness] = await readGate(0);

    expect(liveness?.failedRun).toMatchObject({ location: "local" });
  });
});

describe("alerts", () => {
  it("one that ended before it began, by a clock that was set back, counts as 0", async () => {
    await write({ transitions: [aTransition({ openedAtMs: noon })] });
    const early = { openedAtMs: noon + 3 * hour, atMs: noon + hour, kind: "resolved" } as const;
    await write({ transitions: [aTransition({ episode: 2, ...early })] });

    expect((await readAlertTime(database(), noon + 6 * hour)).get("verify-key")).toBeCloseTo(75);
  });

  it("an episode has both its ends, whichever was recorded first", async () => {
    const resolved = aTransition({ kind: "resolved", atMs: noon + minute, missedPings: 2 });
    await write({ transitions: [resolved] });
    await write({ transitions: [aTransition()] });
    await write({ transitions: [resolved] });

    expect((await reader().episodes({ limit: 10 })).episodes).toEqual([
      expect.objectContaining({
        check_id: "verify-key",
        opened_at: "2026-05-31T12:00:00.000Z",
        resolved_at: "2026-05-31T12:01:00.000Z",
        missed_pings: 2,
      }),
    ]);
  });

  it("episodes are read of a time: those that had not ended, and had begun", async () => {
    const opened = [1, 2, 3].map((episode) => {
      const atMs = noon + episode * hour;
      return aTransition({
        episode,
        eventId: `verify-key:${episode}:opened`,
        atMs,
        openedAtMs: atMs,
      });
    });
    const [first] = opened;
    const over = {
      ...(first as AlertTransition),
      kind: "resolved" as const,
      atMs: noon + 90 * minute,
    };
    await write({ transitions: [...opened, over] });
    const at = (ms: number) => new Date(ms).toISOString();
    const read = async (since: number, until: number) => {
      const span = { limit: 10, since: at(since), until: at(until) };
      return (await reader().episodes(span)).episodes.map(({ episode }) => episode);
    };

    expect(await read(noon, noon + 2 * hour)).toEqual([2, 1]);
    expect(await read(noon + 2 * hour, noon + 9 * hour)).toEqual([3, 2]);
  });

  it("one that opened later replaces one with the same number, in any order", async () => {
    const known = aTransition();
    const over = aTransition({ kind: "resolved", atMs: noon + minute });
    await deliver(known, noon + 100);
    await write({ transitions: [over] });
    const opened = { openedAtMs: noon + day, reason: "local: timeout", locations: ["fra"] };
    const anew = aTransition({ ...opened, atMs: noon + day });

    await Promise.all([write({ transitions: [anew] }), deliver(over, noon + 2 * minute)]);
    await deliver(over, noon + 3 * minute);

    const [episode] = (await reader().episodes({ limit: 1 })).episodes;
    expect(episode).toMatchObject({
      episode: 1,
      opened_at: "2026-06-01T12:00:00.000Z",
      resolved_at: null,
      reason: "local: timeout",
      opened_delivered_at: null,
      resolved_delivered_at: null,
    });
  });

  it("the first delivery of an event is the one that counts", async () => {
    const event = aTransition();
    await write({ transitions: [event] });

    await deliver(event, noon + 100);
    await deliver(event, noon + 900);

    const [episode] = (await reader().episodes({ limit: 1 })).episodes;
    expect(episode?.opened_delivered_at).toBe("2026-05-31T12:00:00.100Z");
  });
});

describe("suppressions", () => {
  const begun = { by: "database", sinceMs: noon, reason: "local: HTTP 500", untilMs: null };
  const ended = { ...begun, untilMs: noon + 3 * minute };
  const stored = {
    check_id: "verify-key",
    began_at: "2026-05-31T12:00:00.000Z",
    ended_at: "2026-05-31T12:03:00.000Z",
    suppressed_by: "database",
    reason: "local: HTTP 500",
  };
  const note = (checkId: string, ...spans: SuppressionSpan[]) =>
    write({ suppressions: spans.map((span) => ({ ...span, checkId })) });
  const spans = async () => (await reader().episodes({ limit: 10 })).suppressions ?? [];

  it.each([
    ["in order", [begun, ended]],
    ["in the other order", [ended, begun]],
    ["twice", [begun, ended, begun, { ...ended, untilMs: noon + hour }]],
    ["by the end alone", [ended]],
  ])("have both ends, noted %s", async (_, notes) => {
    for (const one of notes) await note("verify-key", one);

    expect(await spans()).toEqual([stored]);
  });

  it("have both ends, noted by one decision", async () => {
    await note("verify-key", begun, ended);

    expect(await spans()).toEqual([stored]);
  });

  it("last while no end is noted; one by another check is another one", async () => {
    const sinceMs = noon + 3 * minute;
    await note("verify-key", begun);
    await note("verify-key", ended, { ...begun, by: "network", sinceMs });

    const later = { began_at: stored.ended_at, suppressed_by: "network", ended_at: null };
    expect(await spans()).toEqual([{ ...stored, ...later }, stored]);
  });

  it("of one check are read alone, the newest first, and as many as are asked for", async () => {
    const hours = [noon, noon + hour, noon + 2 * hour];
    const all = hours.map((sinceMs) => ({ ...begun, sinceMs }));
    await note("verify-key", ...all);
    await note("liveness", ...all);

    const { suppressions } = await reader().episodes({ check: "liveness", limit: 2 });

    expect(suppressions?.map(({ check_id, began_at }) => [check_id, began_at])).toEqual([
      ["liveness", "2026-05-31T14:00:00.000Z"],
      ["liveness", "2026-05-31T13:00:00.000Z"],
    ]);
  });

  it("are deleted with the alerts of their age, and never while they last", async () => {
    await note("verify-key", { ...begun, sinceMs: past, untilMs: past + minute });
    await note("liveness", { ...begun, sinceMs: past });
    await write({ results: everyMinute(60, Date.now() - day) });
    await keep(Date.now() - 12 * hour);

    await keep(Date.now());

    expect((await spans()).map(({ check_id }) => check_id)).toEqual(["liveness"]);
  });
});
