/**
 * A burst of pings and a burst of deadlines, at the whole program: 10,000 jobs that ping within one second, and 1,000
 * heartbeats whose deadline is the same millisecond.
 * BENCH_PINGS, BENCH_EXPIRING, BENCH_ROUNDS; BENCH_PARTS=burst or deadlines measures one of the two.
 */
import { setTimeout as delay } from "node:timers/promises";
import { countFrom, median, spread } from "./measure.ts";
import { nowMs } from "./monitor-fixture.ts";
import { pingTokenOf } from "./monitor-plan.ts";
import { type PingTimes, sendPings } from "./ping-load.ts";
import { type PingBench, type ProgramCpu, withPings } from "./ping-program.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

/** The aims are about so many. */
const pingsOfAims = 10_000;

/** Each of a heartbeat of its own: two of one heartbeat in the same millisecond have one row. */
const pings = countFrom("BENCH_PINGS", pingsOfAims);
const expiring = countFrom("BENCH_EXPIRING", 1_000);
const rounds = countFrom("BENCH_ROUNDS", 5);
const parts = (process.env["BENCH_PARTS"] ?? "burst,deadlines").split(",");

/** The aims (docs/measured.md, "Aims"). */
const mostPingMs = 0.12;
const received99Ms = 1_000;

const inADay = { periodSeconds: 86_400, graceSeconds: 3_600, made: "rows" } as const;
const soon = { periodSeconds: 30, graceSeconds: 10, made: "calls" } as const;

/** The program is watched for so long after the last answer, and idle before the first ping. */
const settleMs = 1_000;
const idleMs = 3_000;

type Burst = { times: PingTimes; lost: number; cpu: ProgramCpu };

/** CPU that the burst has cost beyond what the program takes anyway. */
async function measureBurst(bench: PingBench, tokens: readonly string[]): Promise<Burst> {
  const idleFrom = bench.cpu();
  await delay(idleMs);
  const before = bench.cpu();
  const stored = await countStored(bench);
  const beganMs = nowMs();
  const times = await sendPings(bench.controlUrl, { tokens, overMs: 1_000 });
  await delay(settleMs);
  const after = bench.cpu();
  const lastedMs = nowMs() - beganMs;
  const spent = (part: keyof ProgramCpu) => {
    const idle = ((before[part] - idleFrom[part]) / idleMs) * lastedMs;
    return (after[part] - before[part] - idle) / tokens.length;
  };
  const lost = tokens.length - ((await countStored(bench)) - stored);
  const cpu = { program: spent("program"), Restate: spent("Restate"), Postgres: spent("Postgres") };
  return { times, lost, cpu };
}

async function countStored({ database }: PingBench): Promise<number> {
  const { rows } = await database.query(
    "SELECT count(*)::int AS n FROM check_results WHERE location = 'ping'",
  );
  return rows[0].n;
}

function describeBurst({ times, lost, cpu }: Burst) {
  const { program, Restate, Postgres } = cpu;
  const all = program + Restate + Postgres;
  const elapsed = times.elapsedMs / pings;
  return {
    ok: times.ok,
    refused: [...times.refused].map(([status, n]) => `${n} x ${status}`).join(", ") || "none",
    lost,
    "sent in ms": Math.round(times.sendingMs),
    "answered in ms": Math.round(times.elapsedMs),
    "elapsed/count ms": round(elapsed),
    program: round(program),
    Restate: round(Restate),
    Postgres: round(Postgres),
    "CPU each ms": round(all),
    ...spread(times.tookMs),
  };
}

const round = (ms: number) => Number(ms.toFixed(3));

async function measureBursts(bench: PingBench): Promise<void> {
  const tokens = bench.ids.map(pingTokenOf);
  // The first ones run code that is not compiled yet.
  await measureBurst(bench, tokens);
  const found: ReturnType<typeof describeBurst>[] = [];
  for (let i = 0; i < rounds; i += 1) found.push(describeBurst(await measureBurst(bench, tokens)));
  reportTable(`${pings} pings, of a heartbeat each, within one second`, found);
  const answered = median(found.map((row) => row["answered in ms"]));
  reportFigure("a burst of pings is answered after", answered, { unit: "ms" });
  reportBursts(found);
}

/** Undefined: there were no bursts. The time from the first ping to the last answer is that of all pings together. */
function reportBursts(found: readonly ReturnType<typeof describeBurst>[] | undefined): void {
  const notTaken = found?.map(({ ok, lost }) => Math.max(pings - ok, lost));
  const most = notTaken && Math.max(...notTaken);
  reportFigure("pings of a burst not answered 200, or not in the table", most, { atMost: 0 });
  const of = (name: "elapsed/count ms" | "CPU each ms") =>
    found && median(found.map((row) => row[name]));
  const elapsed = pings === pingsOfAims ? of("elapsed/count ms") : undefined;
  const aim = { atMost: mostPingMs, unit: "ms" };
  reportFigure("a ping of a burst, from the first one to the last answer", elapsed, aim);
  reportFigure("a ping of a burst, CPU of all processes", of("CPU each ms"), aim);
}

/** All last pings in one millisecond, so that all deadlines are. Returns the deadline. */
async function pingAtOnce({ database, ids }: PingBench): Promise<number> {
  const pingedMs = Date.now();
  const { rowCount } = await database.query(
    "UPDATE heartbeats SET last_ping_at = $1 WHERE NOT is_watched",
    [new Date(pingedMs)],
  );
  if (rowCount !== ids.length) throw new Error(`${rowCount} of ${ids.length} are well`);
  return pingedMs + (soon.periodSeconds + soon.graceSeconds) * 1_000;
}

/** From the deadline on, until nothing of the alerts is left to do. */
async function measureExpiry(bench: PingBench) {
  const { receiver, ids, cpu } = bench;
  receiver.events.length = 0;
  const dueMs = await pingAtOnce(bench);
  await delay(dueMs - nowMs());
  const before = cpu();
  await untilEvents(bench, "firing");
  const late = receiver.events.map(({ atMs }) => atMs - dueMs);
  await untilRecorded(bench, "opened");
  const recordedMs = Math.round(nowMs() - dueMs);
  const after = cpu();
  const part = (name: keyof ProgramCpu) => round((after[name] - before[name]) / ids.length);
  const costs = { program: part("program"), Restate: part("Restate"), Postgres: part("Postgres") };
  return { events: late.length, ...spread(late), recordedMs, ...costs };
}

async function measureDeadlines(bench: PingBench): Promise<void> {
  const { ids, controlUrl } = bench;
  const found = [];
  for (let i = 0; i < rounds; i += 1) {
    found.push(await measureExpiry(bench));
    await sendPings(controlUrl, { tokens: ids.map(pingTokenOf), overMs: ids.length * 10 });
    await untilEvents(bench, "resolved");
    await untilRecorded(bench, "resolved");
    await delay(settleMs);
  }
  reportTable(`${ids.length} heartbeats with one deadline: ms to the receiver`, found);
  reportDeadlines(median(found.map((round) => round.p99)));
}

function reportDeadlines(p99: number | undefined): void {
  reportFigure("from the deadline to the receiver, p99", p99, { under: received99Ms, unit: "ms" });
}

async function untilEvents({ receiver, ids }: PingBench, status: string): Promise<void> {
  const deadlineMs = nowMs() + 120_000;
  const has = () =>
    new Set(receiver.events.filter((one) => one.status === status).map(({ eventId }) => eventId))
      .size;
  while (has() < ids.length) {
    if (nowMs() > deadlineMs) throw new Error(`${has()} of ${ids.length} are ${status}`);
    await delay(50);
  }
}

/** Until nothing of the alerts is left to do. */
async function untilRecorded({ database, ids }: PingBench, kind: string): Promise<void> {
  const deadlineMs = nowMs() + 120_000;
  const column = kind === "opened" ? "opened_delivered_at" : "resolved_delivered_at";
  const query = `SELECT count(*)::int AS n FROM check_episodes e
    WHERE ${column} IS NOT NULL AND episode = (SELECT max(episode) FROM check_episodes o WHERE o.check_id = e.check_id)`;
  while ((await database.query(query)).rows[0].n < ids.length) {
    if (nowMs() > deadlineMs) throw new Error("not all alerts are recorded");
    await delay(50);
  }
}

startBench("pings");
if (parts.includes("burst")) await withPings({ count: pings, ...inADay }, measureBursts);
else reportBursts(undefined);
if (parts.includes("deadlines")) await withPings({ count: expiring, ...soon }, measureDeadlines);
else reportDeadlines(undefined);
finishBench();
