/** `Drill`: sends a test alert when due. Once every channel has it the heartbeat is pinged, after the grace it fails. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import type { DrillOutcome } from "#alerts/contract.ts";
import type { QueuedOrder } from "#alerts/outbox.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { after, asTerminalError, durableTimer } from "#kernel/restate.ts";
import type { Ping, ReadDefinitions } from "#monitor/contract.ts";
import { forEver } from "#monitor/internal.ts";
import { refusal } from "#monitor/operations/rules.ts";
import { owedAtMs } from "#monitor/rules/occurrences.ts";
import type { StartedDrill } from "./contract.ts";
import { drillObject } from "./internal.ts";
import {
  applyOutcome,
  asDrill,
  type DrillRow,
  type DrillRun,
  type DrillTimer,
  decideTick,
  describeFault,
  describeRun,
  isArmed,
  isConfirmed,
  isExtended,
  isInProgress,
  ordersOf,
  startRun,
  whyBusy,
} from "./rules.ts";

export type DrillParts = {
  readDefinitions: ReadDefinitions;
  readActor: ReadActor;
  /** Takes the ping of a drill. Throws if it could not be written. */
  pingOurs: (id: string, ping: Ping) => Promise<void>;
  /** Hands alert events to their delivery, in their order. */
  enqueue: (orders: readonly QueuedOrder[]) => Promise<void>;
};

export function createDrillObject(parts: DrillParts) {
  return implement(drillObject, {
    handlers: {
      Run: (ctx) => startNow(ctx, parts),
      start: (ctx) => start(ctx, parts),
      tick: (ctx, { generation }) => tick(ctx, generation, parts),
      sendOut: (ctx, { episode }) => sendOut(ctx, episode, parts),
      judge: (ctx, { episode }) => judge(ctx, episode, parts),
      noted: (ctx, outcome) => noted(ctx, outcome, parts),
    },
    options: {
      journalRetention: 0,
      retryPolicy: forEver,
      asTerminalError,
      handlers: {
        tick: { ingressPrivate: true },
        sendOut: { ingressPrivate: true },
        judge: { ingressPrivate: true },
      },
    },
  });
}

/** Each step reads it anew, so that a drill that was removed needs no call. null: it was. */
function readRow(ctx: ObjectContext, { readDefinitions }: DrillParts): Promise<DrillRow | null> {
  return ctx.run("read-definition", async () => {
    const { heartbeats } = await readDefinitions({ isFresh: true });
    return asDrill(heartbeats.find(({ id }) => id === ctx.key));
  });
}

/** Called when a worker starts, and when the definition changed. */
async function start(ctx: ObjectContext, parts: DrillParts): Promise<null> {
  const row = await readRow(ctx, parts);
  if (row === null) return null;
  const { schedule } = row;
  const nowMs = await ctx.date.now();
  if (!isArmed(await timers.read(ctx), { schedule, nowMs })) await arm(ctx, row, nowMs);
  return null;
}

async function arm(ctx: ObjectContext, { schedule }: DrillRow, nowMs: number): Promise<void> {
  const before = await timers.read(ctx);
  const dueAtMs = owedAtMs(schedule, nowMs);
  timers.set(ctx, { before, dueAtMs, schedule }, (generation) =>
    ctx.sendClient(drillObject, ctx.key).tick({ generation }, after(dueAtMs - nowMs)),
  );
}

async function tick(ctx: ObjectContext, generation: number, parts: DrillParts): Promise<null> {
  const timer = await timers.readCurrent(ctx, generation);
  if (timer === null) return null;
  const row = await readRow(ctx, parts);
  if (row === null) return null;
  // The clock that set the timer may be slightly ahead of ours: no time comes twice.
  const nowMs = Math.max(await ctx.date.now(), timer.dueAtMs);
  const decision = decideTick(row, { timer, run: await readRun(ctx), nowMs });
  if (decision === "begin") {
    const run = startRun(row, { dueAtMs: timer.dueAtMs, before: await readRun(ctx) });
    writeRun(ctx, run);
    await sendAlerts(ctx, row, { parts, run, nowMs });
  } else ctx.console.warn("drill skipped", { drill: ctx.key, cause: decision });
  // Last: after a kill the call is repeated while its timer is the current one.
  await arm(ctx, row, nowMs);
  return null;
}

/** An operator's: nothing of the schedule changes. */
async function startNow(ctx: ObjectContext, parts: DrillParts): Promise<StartedDrill> {
  const row = await readRow(ctx, parts);
  if (row === null) throw refusal(404, "unknown_check", `there is no drill ${ctx.key}`);
  const before = await readRun(ctx);
  const busy = whyBusy(before);
  if (busy !== null) throw refusal(409, "drill_running", `the drill ${row.id} is busy: ${busy}`);
  const by = nameOf(parts.readActor(ctx));
  const run = { ...startRun(row, { dueAtMs: await ctx.date.now(), before, by }), by };
  // A call of its own, which is repeated if need be, as this one is not. First: a run that was written must not
  // wait for an alert that nothing sends.
  ctx.sendClient(drillObject, ctx.key).sendOut({ episode: run.episode });
  writeRun(ctx, run);
  return describeRun(row, run);
}

async function sendOut(ctx: ObjectContext, episode: number, parts: DrillParts): Promise<null> {
  const run = await readRun(ctx);
  if (!isInProgress(run, episode)) return null;
  const row = await readRow(ctx, parts);
  if (row === null) writeRun(ctx, { ...run, isJudged: true });
  else await sendAlerts(ctx, row, { parts, run, nowMs: await ctx.date.now() });
  return null;
}

type TimedRun = { parts: DrillParts; run: DrillRun; nowMs: number };

async function sendAlerts(
  ctx: ObjectContext,
  row: DrillRow,
  { parts, run, nowMs }: TimedRun,
): Promise<void> {
  const { episode, dueAtMs, channels, by } = run;
  const orders = ordersOf(row, { episode, atMs: nowMs });
  await ctx.run("enqueue-alerts", () => parts.enqueue(orders));
  const graceMs = row.drill.graceSeconds * 1_000;
  ctx.sendClient(drillObject, ctx.key).judge({ episode }, after(dueAtMs + graceMs - nowMs));
  ctx.console.info("drill begun", { drill: ctx.key, channels, ...(by !== undefined && { by }) });
}

async function noted(ctx: ObjectContext, outcome: DrillOutcome, parts: DrillParts): Promise<null> {
  const before = await readRun(ctx);
  // One that is no drill any more must not be pinged for it.
  if (before === null || (await readRow(ctx, parts)) === null) return null;
  const run = applyOutcome(before, outcome);
  // First: after a kill between the two the call is repeated, and a second ping changes nothing.
  if (isConfirmed(run) && !isConfirmed(before)) {
    const atMs = Math.max(await ctx.date.now(), run.dueAtMs);
    await ctx.run("ping-heartbeat", () => parts.pingOurs(ctx.key, { kind: "success", atMs }));
    ctx.console.info("drill confirmed", { drill: ctx.key });
  }
  if (run !== before) writeRun(ctx, run);
  return null;
}

async function judge(ctx: ObjectContext, episode: number, parts: DrillParts): Promise<null> {
  const run = await readRun(ctx);
  if (!isInProgress(run, episode)) return null;
  const row = await readRow(ctx, parts);
  if (row === null) {
    // It must not hold up the runs of a drill that is defined again.
    writeRun(ctx, { ...run, isJudged: true });
    return null;
  }
  const atMs = await ctx.date.now();
  const graceMs = row.drill.graceSeconds * 1_000;
  if (isExtended(run, atMs, graceMs)) {
    ctx.sendClient(drillObject, ctx.key).judge({ episode }, after(graceMs));
    writeRun(ctx, { ...run, isHeld: true });
    return null;
  }
  const reason = describeFault(run, graceMs);
  const ping = { kind: "fail", atMs, exitCode: null, reason } as const;
  await ctx.run("ping-heartbeat", () => parts.pingOurs(ctx.key, ping));
  writeRun(ctx, { ...run, isJudged: true });
  return null;
}

const keys = { timer: "timer", run: "run" } as const;

const timers = durableTimer<DrillTimer>(keys.timer);

const readRun = (ctx: ObjectContext) => ctx.get<DrillRun>(keys.run);
const writeRun = (ctx: ObjectContext, run: DrillRun) => ctx.set(keys.run, run);
