/**
 * The cost of monitoring and the delay of its alerts: 10,000 heartbeats that are each pinged once a minute
 * beside 500 API checks a minute; then heartbeats that all have the same deadline.
 * BENCH_HEARTBEATS, BENCH_CHECKS, BENCH_MINUTES, BENCH_EXPIRING; with BENCH_PROBING=0 the checks make no
 * requests, to measure scheduling only; BENCH_PARTS=steady or expiry measures one of the two.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import pLimit from "p-limit";
import pRetry from "p-retry";
import { Pool } from "undici";
import { ingressPath } from "#kernel/ingress.ts";
import { countFrom, spread } from "./measure.ts";
import { type MonitorBench, nowMs, withMonitor } from "./monitor-fixture.ts";
import { idsOf, type Plan, pingTokenOf } from "./monitor-plan.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const minutes = countFrom("BENCH_MINUTES", 2);

const pinged = {
  prefix: "pinged",
  count: countFrom("BENCH_HEARTBEATS", 10_000),
  periodSeconds: 60,
  graceSeconds: 60,
};
const expiring = {
  prefix: "expiring",
  count: countFrom("BENCH_EXPIRING", 1_000),
  periodSeconds: 5,
  graceSeconds: 15,
};
const steady = {
  prefix: "steady",
  count: countFrom("BENCH_CHECKS", 500),
  frequencySeconds: 60,
};

/** The aims (docs/measured.md, "Aims"). */
const mostPingMs = 0.12;
const acceptedWithinMs = 1_000;

const plan: Plan = { heartbeats: [pinged, expiring], checks: [steady] };

async function register({ ingressUrl }: MonitorBench, ids: readonly string[]): Promise<void> {
  const limit = pLimit(32);
  const one = async (id: string) => {
    const token_hash = createHash("sha256").update(pingTokenOf(id)).digest("hex");
    const answer = await fetch(
      `${ingressUrl}${ingressPath(`/vedette.v1.Heartbeat/${id}/Register`)}`,
      {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ token_hash }),
        signal: AbortSignal.timeout(60_000),
      },
    );
    if (!answer.ok) throw new Error(`${id}: ${answer.status} ${await answer.text()}`);
  };
  await Promise.all(ids.map((id) => limit(() => pRetry(() => one(id), { retries: 3 }))));
}

/** Pings every heartbeat once a minute, each at a moment of its own. */
function keepPinging({ controlUrl }: MonitorBench, ids: readonly string[]) {
  const pool = new Pool(controlUrl, { connections: 64 });
  const tookMs: number[] = [];
  const state = { sent: 0, failed: 0 };
  const startedMs = nowMs();
  const ping = async (id: string) => {
    const sentMs = nowMs();
    const answer = await pool.request({ method: "GET", path: `/${pingTokenOf(id)}` });
    await answer.body.dump();
    tookMs.push(nowMs() - sentMs);
    if (answer.statusCode !== 200) state.failed += 1;
  };
  const timer = setInterval(() => {
    const due = ((nowMs() - startedMs) / 60_000) * ids.length;
    for (; state.sent < due; state.sent += 1) {
      ping(ids[state.sent % ids.length] ?? "").catch(() => {
        state.failed += 1;
      });
    }
  }, 20);
  return {
    state,
    /** The times of the pings since the last call. */
    take: () => tookMs.splice(0),
    stop: async () => {
      clearInterval(timer);
      await pool.close();
    },
  };
}

/** Percent of one core. */
async function measureLoad(bench: MonitorBench, seconds: number) {
  const before = bench.cpu();
  const startedMs = nowMs();
  await delay(seconds * 1_000);
  const after = bench.cpu();
  const tookMs = nowMs() - startedMs;
  const share = (part: keyof typeof before) =>
    Number((((after[part] - before[part]) / tookMs) * 100).toFixed(1));
  const parts = { worker: share("worker"), Restate: share("Restate"), Postgres: share("Postgres") };
  return {
    ...parts,
    "all three": Number(
      Object.values(parts)
        .reduce((a, b) => a + b)
        .toFixed(1),
    ),
  };
}

async function measureSteady(bench: MonitorBench): Promise<void> {
  const ids = idsOf(pinged);
  // Pings from the start: the first heartbeats would be overdue before the last ones are created.
  const pinging = keepPinging(bench, ids);
  await register(bench, ids);
  // Waits until all heartbeats are ok and the timers of their creation have fired.
  await delay(125_000);
  pinging.state.failed = 0;
  const heartbeatsOnly = await measureLoad(bench, 60);
  await bench.start();
  await delay(15_000);
  pinging.take();
  const busy = await measureLoad(bench, minutes * 60);
  const pings = pinging.take();
  await pinging.stop();
  reportTable(`Percent of one core, over ${minutes} min`, {
    [`${pinged.count} heartbeats, a ping each per minute`]: heartbeatsOnly,
    [`and ${steady.count} checks per minute`]: busy,
  });
  const { rows } = await bench.database.query(
    `SELECT location, count(*)::int AS n, count(*) FILTER (WHERE grade <> 'ok')::int AS bad
     FROM check_results WHERE scheduled_at > now() - interval '1 minute' GROUP BY location`,
  );
  reportTable("Results of the last minute", rows);
  reportTable(`Answer times of ${pings.length} pings, ms`, [spread(pings)]);
  reportFigure("heartbeats, share of a core", heartbeatsOnly["all three"], { unit: "%" });
  reportFigure("heartbeats and checks, share of a core", busy["all three"], { unit: "%" });
  const pingMs = ((heartbeatsOnly["all three"] / 100) * 60_000) / pinged.count;
  reportFigure("pings that were not answered", pinging.state.failed, { atMost: 0 });
  reportFigure("a ping, CPU of all three", pingMs, { atMost: mostPingMs, unit: "ms" });
}

/** Waits until all are ok. */
async function pingOnce({ controlUrl, database }: MonitorBench, ids: readonly string[]) {
  const limit = pLimit(32);
  const ping = async (id: string) => {
    const answer = await fetch(`${controlUrl}/${pingTokenOf(id)}`);
    if (!answer.ok) throw new Error(`${id}: ${answer.status}`);
  };
  await Promise.all(ids.map((id) => limit(() => ping(id))));
  const isOneWatched = "SELECT 1 FROM heartbeats WHERE is_watched LIMIT 1";
  while ((await database.query(isOneWatched)).rows.length > 0) await delay(50);
}

/** Waits until all alerts are committed with their events: from then on a kill loses none. */
async function untilDurable({ database }: MonitorBench, dueMs: number): Promise<number> {
  const count = async () => (await database.query(countOpened)).rows[0].n as number;
  while ((await count()) < expiring.count) await delay(5);
  return nowMs() - dueMs;
}

const countOpened =
  "SELECT count(*)::int AS n FROM check_episodes WHERE check_id LIKE 'expiring-%'";

/** The delays in ms after the deadline, with all last pings in the same millisecond. */
async function measureExpiry(bench: MonitorBench, acceptedMs: readonly number[]): Promise<void> {
  const { count, periodSeconds, graceSeconds } = expiring;
  await register(bench, idsOf(expiring));
  await pingOnce(bench, idsOf(expiring));
  const pingedMs = Date.now();
  const { rowCount } = await bench.database.query(
    "UPDATE heartbeats SET last_ping_at = $1 WHERE id LIKE 'expiring-%' AND NOT is_watched",
    [new Date(pingedMs)],
  );
  if (rowCount !== count) throw new Error("not all heartbeats are there");
  const dueMs = pingedMs + (periodSeconds + graceSeconds) * 1_000;
  const durableMs = await untilDurable(bench, dueMs);
  while (nowMs() < dueMs + 60_000 && acceptedMs.length < count) await delay(50);
  const late = acceptedMs.map((atMs) => atMs - dueMs);
  const accepted = { count: late.length, ...spread(late) };
  reportFigure("all alerts are durable after", durableMs, { unit: "ms" });
  reportTable(`${count} heartbeats with one deadline: ms after it`, { "event accepted": accepted });
  reportFigure("deadlines of one moment without an event", count - late.length, { atMost: 0 });
  reportFigure("from such a deadline to its event, p99", accepted.p99, {
    under: acceptedWithinMs,
    unit: "ms",
  });
}

/** Measures until the event of each alert is accepted. */
async function measureLateness(): Promise<void> {
  const acceptedMs: number[] = [];
  const takeEvent = () => void acceptedMs.push(nowMs());
  await withMonitor({ plan: { heartbeats: [expiring], checks: [] }, takeEvent }, (bench) =>
    measureExpiry(bench, acceptedMs),
  );
}

startBench("monitor");
const parts = (process.env["BENCH_PARTS"] ?? "steady,expiry").split(",");
const isProbing = process.env["BENCH_PROBING"] !== "0";
const takeEvent = (eventId: string) => {
  throw new Error(`${eventId} while every job pinged in time`);
};
if (parts.includes("steady")) await withMonitor({ plan, isProbing, takeEvent }, measureSteady);
if (parts.includes("expiry")) await measureLateness();
finishBench();
