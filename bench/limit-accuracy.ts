/**
 * How exactly a limit holds: at the edge of a window, under a steady overload, with two instances, and after a
 * `kill -9`, of an instance and of the store. Beside it nginx `limit_req`, haproxy stick tables (with two peers) and
 * rate-limiter-flexible over Redis, all with the same calls at the same time.
 *
 * Needs Debian's redis-server, nginx and haproxy (`apt-get install redis-server nginx haproxy`).
 */
import { setTimeout as delay } from "node:timers/promises";
import { hasPrograms } from "../test/support/servers/programs.ts";
import { type ApiBench, withApi } from "./api-fixture.ts";
import {
  durationsMs,
  type Kind,
  type LimitSystem,
  limit,
  startFlexible,
  startHaproxy,
  startNginx,
  startVedette,
} from "./limit-systems.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const windowMs = durationsMs.short;
/** The calls at the edge come so long before and after it. */
const besideMs = 1_000;
/** Calls that were not answered by then, on a busy machine, are made again by another caller, at most so often. */
const tries = 5;
const overload = 3;
const windows = 3;

/** The aims (docs/measured.md, "Aims"), in calls of a limit of 100. */
const mostAtEdge = 115;
const mostInWindow = 200;
const mostSteady = 103;
/** After 60 calls in turns, each of two instances has what was left at its own last call while Redis is away. */
const mostAroundRedis = 60 + 40 + 41;

/** Waits until so long after the next time that is a multiple of the window. Returns that time. */
async function nextEdge(): Promise<number> {
  const edgeMs = Math.ceil(Date.now() / windowMs) * windowMs;
  await untilMs(edgeMs + 20);
  return edgeMs;
}

const untilMs = (atMs: number) => delay(Math.max(0, atMs - Date.now()));

/** Makes so many calls at once, in turns to so many instances. Returns how many pass. */
async function passedOf(
  system: LimitSystem,
  {
    caller,
    kind,
    count,
    instances = 1,
  }: { caller: string; kind: Kind; count: number; instances?: number },
): Promise<number> {
  const calls = Array.from({ length: count }, (_, n) => system.call(caller, kind, n % instances));
  return (await Promise.all(calls)).filter(Boolean).length;
}

/** Calls at even intervals; returns when those that passed were made, unix ms. */
async function callEvenly(
  system: LimitSystem,
  { caller, everyMs, endMs }: { caller: string; everyMs: number; endMs: number },
): Promise<number[]> {
  const passedAtMs: number[] = [];
  const calls: Promise<unknown>[] = [];
  for (let atMs = Date.now(); atMs < endMs; atMs += everyMs) {
    await untilMs(atMs);
    const madeAtMs = Date.now();
    const call = system.call(caller, "short");
    calls.push(call.then((passed) => passed && passedAtMs.push(madeAtMs)));
  }
  await Promise.all(calls);
  return passedAtMs;
}

/**
 * A caller that has a window start by one call, waits for its end, makes all its calls just before that and as many
 * just after, and goes on evenly for another window.
 */
async function measureEdge(
  system: LimitSystem,
  attempt = 1,
): Promise<{ atEdge: number; inWindow: number }> {
  const caller = `at the edge ${attempt}`;
  const startMs = await nextEdge();
  await system.call(caller, "short");
  const edgeMs = startMs + windowMs;
  await untilMs(edgeMs - besideMs);
  const before = await passedOf(system, { caller, kind: "short", count: limit });
  if (Date.now() > edgeMs) {
    if (attempt < tries) return measureEdge(system, attempt + 1);
    throw new Error(`${system.name}: calls took more than ${besideMs} ms`);
  }
  await untilMs(edgeMs + besideMs);
  const after = await passedOf(system, { caller, kind: "short", count: limit });
  const endMs = edgeMs - besideMs + windowMs;
  const later = await callEvenly(system, { caller, everyMs: 30, endMs });
  return { atEdge: before + after, inWindow: before + after + later.length };
}

/** Returns what passes in a window, on average of all but the first. */
async function measureSteady(system: LimitSystem): Promise<number> {
  const startMs = await nextEdge();
  const everyMs = windowMs / (limit * overload);
  const endMs = startMs + windows * windowMs;
  const passed = await callEvenly(system, { caller: "steady", everyMs, endMs });
  return passed.filter((atMs) => atMs >= startMs + windowMs).length / (windows - 1);
}

/** More than half of the limit, a kill of the first instance or of the store, then more calls than are left. */
async function measureKill(
  system: LimitSystem,
  kill?: () => Promise<void>,
): Promise<number | undefined> {
  if (kill === undefined) return undefined;
  const caller = kill === system.kill9 ? "killed" : "store killed";
  let passed = 0;
  for (let n = 0; n < 60; n += 1) if (await system.call(caller, "minute", n % 2)) passed += 1;
  await kill();
  return passed + (await passedOf(system, { caller, kind: "minute", count: limit, instances: 2 }));
}

async function measureSystem(system: LimitSystem) {
  const edge = await measureEdge(system);
  const steady = await measureSteady(system);
  const call = { caller: "two", kind: "minute", count: 2 * limit, instances: 2 } as const;
  const two = await passedOf(system, call);
  const killed = await measureKill(system, system.kill9);
  const storeKilled = await measureKill(system, system.kill9Store);
  return { ...edge, steady, two, killed, storeKilled };
}

type Passed = Awaited<ReturnType<typeof measureSystem>>;

function toRow({ atEdge, inWindow, steady, two, killed, storeKilled }: Passed) {
  return {
    "at an edge": atEdge,
    "in a window": inWindow,
    "steady overload, a window": steady,
    "two instances at once": two,
    "an instance killed": killed ?? "",
    "its store killed": storeKilled ?? "",
  };
}

function report(found: ReadonlyMap<string, Passed>, own: Passed): void {
  const rows = Object.fromEntries([...found].map(([name, passed]) => [name, toRow(passed)]));
  reportTable(`Calls that pass where the limit is ${limit}`, rows);
  for (const [name, { atEdge, two, killed }] of found) {
    reportFigure(`at an edge: ${name}`, atEdge);
    reportFigure(`two instances: ${name}`, two);
    reportFigure(`an instance killed: ${name}`, killed);
  }
  reportFigure("calls that pass at an edge", own.atEdge, { atMost: mostAtEdge });
  reportFigure("calls that pass in a window", own.inWindow, { atMost: mostInWindow });
  reportFigure("calls that pass in a window of a steady overload", own.steady, {
    atMost: mostSteady,
  });
  reportFigure("calls that pass at two instances at once", own.two, { atMost: limit });
  reportFigure("calls that pass around a kill of an instance", own.killed, { atMost: limit });
  reportFigure("calls that pass around a kill of Redis", own.storeKilled, {
    atMost: mostAroundRedis,
  });
}

async function measure(bench: ApiBench): Promise<void> {
  const systems: LimitSystem[] = [];
  try {
    const own = await startVedette(bench);
    systems.push(own, await startFlexible(bench));
    systems.push(await startNginx(), await startHaproxy());
    // A namespace is made by its first call.
    await Promise.all(systems.map((system) => system.call("first", "minute")));
    const found = new Map(
      await Promise.all(
        systems.map(async (system) => [system.name, await measureSystem(system)] as const),
      ),
    );
    report(found, found.get(own.name) as Passed);
  } finally {
    await Promise.allSettled(systems.map((system) => system.stop()));
  }
}

startBench("limit-accuracy");
if (!hasPrograms("redis-server", "nginx", "haproxy"))
  throw new Error("not all peers are installed");
await withApi(measure);
finishBench();
