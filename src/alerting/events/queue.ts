/**
 * What becomes of a check's events: pure decisions over its durable queue. The first one that waits is
 * the one that is being delivered; nothing overtakes it. Times are Unix ms.
 */
import type { AlertOrder, EventStatus } from "#alerting/events-contract.ts";
import { invariant } from "#kernel/invariant.ts";
import type { Environment } from "#monitor/contract.ts";
import { backoffMs, type Outcome } from "./outcome.ts";

export type RoutedOrder = AlertOrder & { channel: Environment };

type Entry = {
  order: RoutedOrder;
  /** Counts the check's events in the order in which they were handed over. */
  sequence: number;
  /** When it was handed over, or by hand sent again; null: its first attempt, due at once, will tell. */
  queuedAtMs: number | null;
  attempts: number;
  cause: string | null;
};

export type Queue = {
  /** Of the last event handed over. */
  sequence: number;
  /** Counts attempts and waits: a timer of an earlier one does nothing. */
  generation: number;
  waiting: Entry[];
  /** Refused or given up, oldest first; each may be sent again until a later event is accepted. */
  dead: Entry[];
  /** The last event that the receiver accepted; null before the first. */
  accepted: { eventId: string; episode: number; kind: string } | null;
};

/** What is written down of an event whenever something happens to it. */
export type EventRecord = {
  entry: Entry;
  status: EventStatus;
  nextAttemptAtMs: number | null;
  acceptedAtMs: number | null;
};

/** A decision: the queue from now on, and what is to be done. */
export type Step = {
  queue: Queue;
  /** Due now: how the attempt at it ends is told to `settle`. */
  post: Entry | null;
  /** When to call `wake` with the queue's generation; null: no timer. */
  wakeAfterMs: number | null;
  records: EventRecord[];
};

export const emptyQueue: Queue = {
  sequence: 0,
  generation: 0,
  waiting: [],
  dead: [],
  accepted: null,
};

/** A delivery that says nothing for so long was killed: it is made again. Longer than any attempt. */
const lostAfterMs = 5 * 60_000;
/** More than any operator looks through; the oldest are let go. */
const mostDead = 100;

const idOf = ({ order }: Entry) => order.transition.eventId;

/** Whether this event, coming now, is due at once. */
export function isDueAtOnce(queue: Queue, order: RoutedOrder): boolean {
  return isIdle(queue) && !isOrphan(queue, order);
}

function isIdle({ waiting }: Queue): boolean {
  return waiting.length === 0;
}

/** Takes over an event; one that is known already changes nothing. `nowMs`: null when it is due at once. */
export function add(queue: Queue, order: RoutedOrder, nowMs: number | null): Step {
  const { eventId } = order.transition;
  const known = [...queue.waiting, ...queue.dead].map(idOf);
  if (known.includes(eventId) || queue.accepted?.eventId === eventId) return nothing(queue);
  const sequence = queue.sequence + 1;
  const entry = { order, sequence, queuedAtMs: nowMs, attempts: 0, cause: null };
  const longer = { ...queue, sequence, waiting: [...queue.waiting, entry] };
  // The end of an attempt that follows at once is all there is to record.
  if (isIdle(queue)) return advance(longer);
  return withRecords([record(entry, "pending")], nothing(longer));
}

/** A timer went off: the first event is tried again, unless something else happened since. */
export function wake(queue: Queue, generation: number): Step {
  return generation === queue.generation ? advance(queue) : nothing(queue);
}

export type Settlement = {
  outcome: Outcome;
  beganAtMs: number;
  atMs: number;
  /** From 0 to 1: keeps checks that wait for the same receiver apart. */
  random: number;
};

/** The attempt at the first event ended. */
export function settle(queue: Queue, settlement: Settlement, giveUpAfterMs: number): Step {
  const { outcome, beganAtMs, atMs } = settlement;
  const head = queue.waiting[0];
  invariant(head !== undefined, "an attempt ended that was none at an event");
  const cause = "cause" in outcome ? outcome.cause : null;
  const queuedAtMs = head.queuedAtMs ?? beganAtMs;
  const entry = { ...head, queuedAtMs, attempts: head.attempts + 1, cause };
  switch (outcome.kind) {
    case "accepted":
      return accept(queue, entry, atMs);
    case "refused":
      return bury(queue, entry);
    case "unconfigured":
      return withRecords([record(entry, "not_posted")], advance(withoutHead(queue)));
    case "retry": {
      const waitMs = backoffMs(head.attempts, { ...settlement, ...outcome });
      if (atMs + waitMs > queuedAtMs + giveUpAfterMs) {
        return bury(queue, { ...entry, cause: `given up: ${cause}` });
      }
      return postpone(queue, entry, { waitMs, atMs });
    }
  }
}

/** null: the event is not known. `superseded`: it would tell what is no longer so. */
export type Retry = { step: Step; eventIds: string[] } | "superseded" | null;

/** Sends a dead letter again, a failure with its recovery; or the first that waits, at once. */
export function retry(queue: Queue, eventId: string, nowMs: number): Retry {
  if (queue.waiting.some((entry) => idOf(entry) === eventId)) {
    return { step: advance(queue), eventIds: [eventId] };
  }
  const asked = queue.dead.find((entry) => idOf(entry) === eventId);
  if (asked === undefined) return null;
  // What is newer and waits may be accepted at any moment.
  if (queue.waiting.some(({ sequence }) => sequence > asked.sequence)) return "superseded";
  const { episode } = asked.order.transition;
  const isOfEpisode = (entry: Entry) => entry.order.transition.episode === episode;
  const again = queue.dead
    .filter(isOfEpisode)
    .map((entry) => ({ ...entry, queuedAtMs: nowMs, attempts: 0, cause: null }));
  const dead = queue.dead.filter((entry) => !isOfEpisode(entry));
  const records = again.map((entry) => record(entry, "pending"));
  const longer = { ...queue, waiting: [...queue.waiting, ...again], dead };
  const step = withRecords(records, isIdle(queue) ? advance(longer) : nothing(longer));
  return { step, eventIds: again.map(idOf) };
}

/** The first event is delivered; a recovery whose failure nobody accepted is taken out first. */
function advance(queue: Queue): Step {
  const head = queue.waiting[0];
  if (head === undefined) return nothing(queue);
  if (isOrphan(queue, head.order)) return withdraw(queue, head);
  const next = { ...queue, generation: queue.generation + 1 };
  return { queue: next, post: head, wakeAfterMs: lostAfterMs, records: [] };
}

/** Never a recovery before its failure was delivered (issue 4). */
function isOrphan({ accepted }: Queue, { transition }: RoutedOrder): boolean {
  const { kind, episode } = transition;
  if (kind === "opened") return false;
  return accepted?.kind !== "opened" || accepted.episode !== episode;
}

/** With its failure among the dead letters it goes there too: the two are sent again together. */
function withdraw(queue: Queue, head: Entry): Step {
  const { episode } = head.order.transition;
  const isFailureDead = queue.dead.some(({ order }) => order.transition.episode === episode);
  const entry = { ...head, cause: "its failure was not delivered" };
  if (isFailureDead) return bury(queue, entry);
  return withRecords([record(entry, "not_posted")], advance(withoutHead(queue)));
}

function accept(queue: Queue, entry: Entry, atMs: number): Step {
  const { eventId, episode, kind } = entry.order.transition;
  const isNewer = ({ sequence }: Entry) => sequence > entry.sequence;
  const dead = queue.dead.filter(isNewer);
  const rest = { ...withoutHead(queue), dead, accepted: { eventId, episode, kind } };
  const superseded = queue.dead
    .filter((old) => !isNewer(old))
    .map((old) => record(old, "superseded"));
  const accepted = { ...record({ ...entry, cause: null }, "accepted"), acceptedAtMs: atMs };
  return withRecords([accepted, ...superseded], advance(rest));
}

function bury(queue: Queue, entry: Entry): Step {
  const all = [...queue.dead, entry];
  const dead = all.slice(-mostDead);
  const forgotten = all.slice(0, -mostDead).map((old) => record(old, "superseded"));
  const rest = advance({ ...withoutHead(queue), dead });
  return withRecords([record(entry, "dead"), ...forgotten], rest);
}

function postpone(queue: Queue, entry: Entry, wait: { waitMs: number; atMs: number }): Step {
  const [, ...later] = queue.waiting;
  const generation = queue.generation + 1;
  const pending = { ...record(entry, "pending"), nextAttemptAtMs: wait.atMs + wait.waitMs };
  return {
    queue: { ...queue, generation, waiting: [entry, ...later] },
    post: null,
    wakeAfterMs: wait.waitMs,
    records: [pending],
  };
}

function withoutHead(queue: Queue): Queue {
  return { ...queue, waiting: queue.waiting.slice(1) };
}

function record(entry: Entry, status: EventStatus): EventRecord {
  return { entry, status, nextAttemptAtMs: null, acceptedAtMs: null };
}

function withRecords(records: EventRecord[], step: Step): Step {
  return { ...step, records: [...records, ...step.records] };
}

function nothing(queue: Queue): Step {
  return { queue, post: null, wakeAfterMs: null, records: [] };
}
