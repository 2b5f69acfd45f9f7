/**
 * Measures the delay of an alert from the failing answer of the target to the receiver, with checks that fail and
 * recover in turn beside others that are ok; then events of many checks that are handed over at one moment.
 * BENCH_EPISODES, BENCH_BESIDE, BENCH_AT_ONCE; BENCH_PARTS=episodes or at-once.
 */
import type { RequestListener } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { RoutedOrder } from "#alerts/order.ts";
import { enqueue } from "#alerts/outbox.ts";
import { inTransaction } from "#kernel/database.ts";
import { countFrom, median, spread } from "./measure.ts";
import { type MonitorBench, nowMs, withMonitor } from "./monitor-fixture.ts";
import { idsOf, type Plan } from "./monitor-plan.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const episodes = countFrom("BENCH_EPISODES", 100);
const atOnce = countFrom("BENCH_AT_ONCE", 1_000);

/** The aims (docs/measured.md, "Aims"). */
const episodeWithinMs = 110;
const atOnceWithinMs = 1_000;

const flapping = { prefix: "flapping", count: 20, frequencySeconds: 5 };
const beside = { prefix: "well", count: countFrom("BENCH_BESIDE", 500), frequencySeconds: 60 };

type Kind = "opened" | "resolved";

/** A target whose checks fail until their alert has arrived, then succeed until its recovery has. */
function createTarget() {
  const checks = new Map(
    idsOf(flapping).map((id) => [
      id,
      { isFailing: true, saidSoMs: undefined as number | undefined },
    ]),
  );
  const tookMs: Record<Kind, number[]> = { opened: [], resolved: [] };
  const answerCheck: RequestListener = (incoming, outgoing) => {
    const check = checks.get(incoming.url?.slice(1) ?? "");
    // The time when the answer is sent; the first one after the change is what has to be detected.
    outgoing.once("finish", () => {
      if (check !== undefined) check.saidSoMs ??= nowMs();
    });
    outgoing.writeHead(check?.isFailing === true ? 500 : 200).end("{}");
  };
  const takeEvent = (eventId: string) => {
    const arrivedMs = nowMs();
    const [id = "", , kind] = eventId.split(":");
    const check = checks.get(id);
    const wanted = check?.isFailing === true ? "opened" : "resolved";
    if (check?.saidSoMs === undefined || kind !== wanted) throw new Error(`unasked: ${eventId}`);
    tookMs[kind].push(arrivedMs - check.saidSoMs);
    check.isFailing = !check.isFailing;
    check.saidSoMs = undefined;
  };
  return { answerCheck, takeEvent, tookMs };
}

async function measureEpisodes(): Promise<void> {
  const { answerCheck, takeEvent, tookMs } = createTarget();
  const plan: Plan = { heartbeats: [], checks: [flapping, beside] };
  await withMonitor({ plan, answerCheck, takeEvent }, async (bench) => {
    await bench.start();
    // The first round of each is slower: the code is not compiled and no connection is open.
    await untilCount(tookMs.resolved, flapping.count, 60_000);
    for (const times of Object.values(tookMs)) times.length = 0;
    await untilCount(tookMs.resolved, episodes, 240_000);
  });
  const both = spread([...tookMs.opened, ...tookMs.resolved]);
  reportTable(
    `From the answer of a target that fails, or is well again, to the receiver, ms: ${tookMs.resolved.length} ` +
      `episodes beside ${beside.count} checks a minute`,
    { ...toSpreads(tookMs), both },
  );
  const { p50, p99 } = spread(tookMs.opened);
  reportFigure("a failure, p50", p50, { unit: "ms" });
  reportFigure("a failure, p99", p99, { unit: "ms" });
  reportFigure("an alert, both kinds, p99", both.p99, { atMost: episodeWithinMs, unit: "ms" });
}

async function measureAtOnce(): Promise<void> {
  const arrivedMs = new Map<string, number>();
  const takeEvent = (eventId: string) => void arrivedMs.set(eventId, nowMs());
  const plan: Plan = { heartbeats: [], checks: [] };
  await withMonitor({ plan, takeEvent }, async (bench) => {
    const spreads: Record<string, ReturnType<typeof spread>> = {};
    const costs: Record<string, Record<string, number>> = {};
    for (const episode of [1, 2, 3]) {
      for (const kind of ["opened", "resolved"] as const) {
        const before = bench.cpu();
        const dueMs = await handOver(bench, { episode, kind });
        const times = await untilAll(bench, { episode, kind, arrivedMs, dueMs });
        const after = bench.cpu();
        const part = (name: keyof typeof before) =>
          Number(((after[name] - before[name]) / atOnce).toFixed(2));
        const name = `${kind} ${episode}`;
        spreads[name] = times;
        costs[name] = {
          worker: part("worker"),
          Restate: part("Restate"),
          Postgres: part("Postgres"),
        };
      }
    }
    reportTable(`${atOnce} events handed over in one moment: ms to the receiver`, spreads);
    reportTable("CPU of each until it is recorded, ms", costs);
    reportAtOnce(Object.values(spreads).map(({ p99 }) => p99));
  });
}

/** Takes the rounds in order; the first does not count, as its code is not compiled yet. */
function reportAtOnce(p99s: readonly number[]): void {
  const aim = { under: atOnceWithinMs, unit: "ms" };
  reportFigure(
    "events of one moment, p99, median of the rounds but the first",
    median(p99s.slice(1)),
    aim,
  );
}

type Round = { episode: number; kind: Kind };

/** In one transaction, as for heartbeats with the same deadline. Returns when it was begun. */
async function handOver({ database, wakeDelivery }: MonitorBench, round: Round): Promise<number> {
  const atMs = nowMs();
  const orders = idsOf({ prefix: "one", count: atOnce }).map((id) => ({
    queue: id,
    order: toOrder(id, round, Math.round(atMs)),
  }));
  await inTransaction(database, (tx) => enqueue(tx, orders));
  wakeDelivery();
  return atMs;
}

function toOrder(id: string, { episode, kind }: Round, atMs: number): RoutedOrder {
  return {
    transition: {
      kind,
      eventId: `${id}:${episode}:${kind}`,
      checkId: id,
      episode,
      atMs,
      openedAtMs: atMs,
      reason: "no ping since 2026-01-01T00:00:00Z (period 20s, grace 20s)",
      locations: [],
      missedPings: null,
      rollout: null,
    },
    environment: "production",
    channel: "production",
    name: id,
  };
}

type Awaiting = Round & { arrivedMs: Map<string, number>; dueMs: number };

/** Waits until all are also recorded. */
async function untilAll({ database }: MonitorBench, { episode, kind, arrivedMs, dueMs }: Awaiting) {
  const isOfRound = (eventId: string) => eventId.endsWith(`:${episode}:${kind}`);
  const times = () =>
    [...arrivedMs].filter(([id]) => isOfRound(id)).map(([, atMs]) => atMs - dueMs);
  const deadlineMs = nowMs() + 60_000;
  while (times().length < atOnce) {
    if (nowMs() > deadlineMs) throw new Error(`${times().length} of ${atOnce} events arrived`);
    await delay(20);
  }
  for (;;) {
    const { rows } = await database.query(
      "SELECT count(*)::int AS n FROM alert_events WHERE episode = $1 AND kind = $2 AND status = 'accepted'",
      [episode, kind],
    );
    if (rows[0].n === atOnce) return { ...spread(times()), recorded: Math.round(nowMs() - dueMs) };
    if (nowMs() > deadlineMs) throw new Error(`${rows[0].n} of ${atOnce} events are recorded`);
    await delay(20);
  }
}

async function untilCount(times: readonly number[], count: number, withinMs: number) {
  const deadlineMs = nowMs() + withinMs;
  while (times.length < count) {
    if (nowMs() > deadlineMs) throw new Error(`${times.length} of ${count} episodes in time`);
    await delay(100);
  }
}

function toSpreads(tookMs: Record<string, readonly number[]>) {
  return Object.fromEntries(Object.entries(tookMs).map(([name, times]) => [name, spread(times)]));
}

startBench("alert-delay");
const parts = (process.env["BENCH_PARTS"] ?? "episodes,at-once").split(",");
if (parts.includes("episodes")) await measureEpisodes();
if (parts.includes("at-once")) await measureAtOnce();
finishBench();
