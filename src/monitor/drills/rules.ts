/** Drills: when one runs, and what confirms it. Pure; time is a parameter. */
import { isDeepStrictEqual } from "node:util";
import {
  type AlertTransition,
  type DrillOutcome,
  directQueueKey,
  type Environment,
  formatEventId,
  testMark,
} from "#alerts/contract.ts";
import type { QueuedOrder } from "#alerts/outbox.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { formatDuration, formatUtc, toIso } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import type { CronSchedule, Drill, Heartbeat } from "#monitor/contract.ts";
import { owedAtMs } from "#monitor/rules/occurrences.ts";
import type { StartedDrill } from "./contract.ts";

export type DrillTimer = { generation: number; dueAtMs: number; schedule: CronSchedule };

export type DrillRow = Heartbeat & { drill: Drill; schedule: CronSchedule };

export type DrillRun = {
  /** About the minute for which it ran: another one for each run, and later ones are larger. */
  episode: number;
  /** The time of the schedule, or at which an operator began it. */
  dueAtMs: number;
  /** The operator who began it; absent: the schedule did. */
  by?: string;
  /** The tested channels, as a `DrillOutcome` has them, those by which it was confirmed, and the outcome at others, if known. */
  channels: string[];
  confirmed: string[];
  faults: Record<string, string>;
  /** True once the grace is found to be over. A confirmation that comes later counts. */
  isJudged: boolean;
  /** The end of the grace came late: nothing ran for a while, and the channels were given the grace once more. */
  isHeld?: true;
};

/** null: it is no drill. */
export function asDrill(heartbeat: Heartbeat | undefined): DrillRow | null {
  const { drill, schedule } = heartbeat ?? {};
  if (heartbeat === undefined || drill === undefined || schedule === undefined) return null;
  return { ...heartbeat, drill, schedule };
}

/** The delay of a timer's call after which it counts as lost. */
const lostAfterMs = 60_000;

/** True if the timer will call at the next time of the schedule. */
export function isArmed(
  timer: DrillTimer | null,
  { schedule, nowMs }: { schedule: CronSchedule; nowMs: number },
): boolean {
  if (timer === null || !isDeepStrictEqual(timer.schedule, schedule)) return false;
  const isDue = timer.dueAtMs <= nowMs && timer.dueAtMs > nowMs - lostAfterMs;
  return isDue || timer.dueAtMs === owedAtMs(schedule, nowMs);
}

type Tick = { timer: DrillTimer; run: DrillRun | null; nowMs: number };

/** begin: it runs now. moved: another schedule. late: past the grace, not made up for. busy: the last one waits. */
export function decideTick(
  { schedule, drill }: DrillRow,
  { timer, run, nowMs }: Tick,
): "begin" | "moved" | "late" | "busy" {
  if (!isDeepStrictEqual(timer.schedule, schedule)) return "moved";
  if (nowMs - timer.dueAtMs > drill.graceSeconds * 1_000) return "late";
  const isBusy = run !== null && isOpen(run) && !isScheduled(run, timer.dueAtMs);
  return isBusy ? "busy" : "begin";
}

type RunOrder = { dueAtMs: number; before: DrillRun | null; by?: string };

/** A call of the schedule that was killed comes again: what was confirmed meanwhile is kept. */
export function startRun({ drill }: DrillRow, { dueAtMs, before, by }: RunOrder): DrillRun {
  if (by === undefined && before !== null && isScheduled(before, dueAtMs)) return before;
  return {
    episode: Math.max(Math.floor(dueAtMs / minuteMs), (before?.episode ?? 0) + 1),
    dueAtMs,
    ...(by !== undefined && { by }),
    channels: testedBy(drill),
    confirmed: [],
    faults: {},
    isJudged: false,
  };
}

function testedBy({ channel, directChannels = [] }: Drill): string[] {
  return [...(channel === null ? [] : [channel]), ...directChannels.map(({ id }) => `@${id}`)];
}

const nameOf = (channel: string) => channel.replace(/^@/, "");

const minuteMs = 60_000;

/** True if it is the run for this time of the schedule. */
function isScheduled({ dueAtMs, by }: DrillRun, timeMs: number): boolean {
  return by === undefined && dueAtMs === timeMs;
}

/** Why an operator can begin no run now: another one still waits. null: one can. */
export function whyBusy(run: DrillRun | null): string | null {
  if (run === null || !isOpen(run)) return null;
  const { dueAtMs, by = "the schedule" } = run;
  const channels = missingOf(run).map(nameOf).join(", ");
  return `a run that ${callerWords(by)} began at ${formatUtc(dueAtMs)} still waits for ${channels}`;
}

/** Nothing about another run, or about a channel that this one does not test, changes it. */
export function applyOutcome(run: DrillRun, { episode, channel, status }: DrillOutcome): DrillRun {
  if (episode !== run.episode || !run.channels.includes(channel)) return run;
  if (run.confirmed.includes(channel)) return run;
  if (status === "accepted") return { ...run, confirmed: [...run.confirmed, channel] };
  return { ...run, faults: { ...run.faults, [channel]: words[status] } };
}

const words: Record<Exclude<DrillOutcome["status"], "accepted">, string> = {
  dead: "refused",
  superseded: "not sent",
  not_posted: "not configured",
};

export function isConfirmed({ channels, confirmed }: DrillRun): boolean {
  return channels.every((channel) => confirmed.includes(channel));
}

function isOpen(run: DrillRun): boolean {
  return !run.isJudged && !isConfirmed(run);
}

/** True if this is the last run, and not all channels have confirmed it yet. */
export function isInProgress(run: DrillRun | null, episode: number): run is DrillRun {
  return run !== null && run.episode === episode && isOpen(run);
}

/** The maximal delay of finding the end of the grace while the program runs. */
const evaluatedWithinMs = 2_000;

/** True if the channels get the grace once more, since accepted alerts may not have been recorded yet. */
export function isExtended({ dueAtMs, isHeld }: DrillRun, nowMs: number, graceMs: number): boolean {
  return isHeld !== true && nowMs > dueAtMs + graceMs + evaluatedWithinMs;
}

/** `the test alert was not confirmed within 15 min by chat (refused), mail` */
export function describeFault(run: DrillRun, graceMs: number): string {
  const { faults } = run;
  const missing = missingOf(run).map((channel) =>
    Object.hasOwn(faults, channel) ? `${nameOf(channel)} (${faults[channel]})` : nameOf(channel),
  );
  return `the test alert was not confirmed within ${formatDuration(graceMs)} by ${missing.join(", ")}`;
}

function missingOf({ channels, confirmed }: DrillRun): string[] {
  return channels.filter((channel) => !confirmed.includes(channel));
}

export function describeRun(
  { id, drill }: DrillRow,
  { dueAtMs, by, channels }: DrillRun & { by: string },
): StartedDrill {
  const due_at = toIso(dueAtMs + drill.graceSeconds * 1_000);
  return { drill: id, by, begun_at: toIso(dueAtMs), due_at, channels: channels.map(nameOf) };
}

/** No check has such an id: the events of the drill's own heartbeat have other queues and other alerts. */
export const checkIdOf = ({ id }: Pick<DrillRow, "id">) => `drill:${id}`;

/** Returns the orders in the order in which they are to be sent. */
export function ordersOf(
  row: DrillRow,
  { episode, atMs }: { episode: number; atMs: number },
): QueuedOrder[] {
  const { environment, drill } = row;
  const name = `${testMark}${row.name}`;
  const checkId = checkIdOf(row);
  const both = (queue: string, to: Addressed): QueuedOrder[] =>
    (["opened", "resolved"] as const).map((kind) => {
      const transition = transitionOf(row, { queue, kind, episode, atMs });
      return { queue, order: { transition, environment, name, ...to } };
    });
  return [
    ...(drill.channel === null ? [] : both(checkId, { channel: drill.channel })),
    ...(drill.directChannels ?? []).flatMap((target) =>
      both(directQueueKey(checkId, target.id), { channel: null, target }),
    ),
  ];
}

type Addressed = { channel: Environment } | { channel: null; target: DirectChannel };

type Event = { queue: string; kind: "opened" | "resolved"; episode: number; atMs: number };

function transitionOf(row: DrillRow, { queue, kind, episode, atMs }: Event): AlertTransition {
  return {
    kind,
    eventId: formatEventId({ queue, episode, joining: 0, kind }),
    checkId: checkIdOf(row),
    episode,
    atMs,
    openedAtMs: atMs,
    reason: `this is the drill ${row.id}: nothing has failed`,
    locations: [],
    missedPings: null,
    rollout: null,
    drill: row.id,
  };
}
