/**
 * The queue of a check's events, or of a topic's notices: pure decisions over durable state. The first waiting event is
 * the one being delivered. Only the newest failure may overtake it, when the receiver refuses the first one's
 * token but accepts the newest failure. Times are Unix ms.
 */
import type { EventStatus } from "#alerts/contract.ts";
import { invariant } from "#kernel/problem.ts";
import { eventIdOf, type Order } from "./order.ts";
import { isOfChannel, type Outcome, retryWaitMs, wasSent, wordsOf } from "./outcome.ts";

export type Entry = {
  order: Order;
  /** Numbers the check's events in the order in which they were enqueued. */
  sequence: number;
  /** The time at which it was enqueued, or sent again by an operator. */
  queuedAtMs: number;
  attempts: number;
  cause: string | null;
};

export type Queue = {
  /** The sequence number of the last event enqueued. */
  sequence: number;
  /** Incremented with each attempt and wait: the outcome of an attempt of an earlier generation is dropped. */
  generation: number;
  waiting: Entry[];
  /** The sequence of the event that is tried out of order; absent: the first one is tried. */
  probe?: number;
  /** Dead letters, oldest first; each may be sent again until a later event is accepted. */
  dead: Entry[];
  /** The last event that the receiver accepted; null before the first. */
  accepted: { eventId: string; episode?: number | undefined; kind?: string | undefined } | null;
};

/** The record of an event that is stored whenever its status changes. */
export type EventRecord = {
  entry: Entry;
  status: EventStatus;
  nextAttemptAtMs: number | null;
  acceptedAtMs: number | null;
};

/** A decision: the new queue, and the actions to take. */
export type Step = {
  queue: Queue;
  /** The event to attempt now; the outcome goes to `applyOutcome`. null: none. */
  post: Entry | null;
  /** The delay until the next attempt; null: as before, or none. */
  retryAfterMs: number | null;
  records: EventRecord[];
};

const nothing = { waiting: [], dead: [], accepted: null };
export const emptyQueue: Queue = { sequence: 0, generation: 0, ...nothing };

const hourMs = 60 * 60_000;
/** The maximum of dead letters, more than an operator reads; the oldest are dropped. */
const maxDead = 100;

const idOf = ({ order }: Entry) => eventIdOf(order);

/** A failure and its recovery: their ids differ only in the kind. */
const failureOf = (entry: Entry) => idOf(entry).replace(/:(?:opened|resolved)$/, "");
const isOfOne = (one: Entry, other: Entry) => failureOf(one) === failureOf(other);

type Arrivals = {
  orders: readonly Order[];
  /** True if an attempt is due anyway. */
  isDue: boolean;
  nowMs: number;
};

/** Adds events in their order. Attempts the first one if it is due, or if nothing waited before. */
export function fold(queue: Queue, { orders, isDue, nowMs }: Arrivals): Step {
  let folded = unchanged(queue);
  for (const order of orders) {
    folded = withRecords(folded.records, add(folded.queue, order, nowMs));
  }
  if (!isDue && !isIdle(queue)) return folded;
  return withRecords(folded.records, advance(folded.queue));
}

const isIdle = ({ waiting }: Queue) => waiting.length === 0;

/** Adds an event; ignores one that is known already. */
function add(queue: Queue, order: Order, nowMs: number): Step {
  const eventId = eventIdOf(order);
  const known = [...queue.waiting, ...queue.dead].map(idOf);
  if (known.includes(eventId) || queue.accepted?.eventId === eventId) return unchanged(queue);
  const sequence = queue.sequence + 1;
  const entry = { order, sequence, queuedAtMs: nowMs, attempts: 0, cause: null };
  const longer = { ...queue, sequence, waiting: [...queue.waiting, entry] };
  // The attempt follows at once, and its outcome is recorded: no record of the wait is needed.
  if (isIdle(queue)) return unchanged(longer);
  const surplus = findSurplus(longer);
  const waiting = longer.waiting.filter((one) => !surplus.includes(one));
  const superseded = surplus.map((one) => record(one, "superseded"));
  return withRecords([record(entry, "pending"), ...superseded], unchanged({ ...longer, waiting }));
}

/** Bounds the state of a check that flaps while the receiver is down. */
const maxWaiting = 1_000;

/** If too many wait: the oldest notice, or episode that has ended, except one that is being attempted. */
function findSurplus({ waiting, probe }: Queue): Entry[] {
  if (waiting.length <= maxWaiting) return [];
  const isNotice = (entry: Entry | undefined) => entry?.order.transition === undefined;
  const at = waiting.findIndex(
    (entry, i) =>
      i > 0 && entry.sequence !== probe && (isNotice(entry) || isRecovery(waiting[i + 1], entry)),
  );
  return at === -1 ? [] : waiting.slice(at, at + (isNotice(waiting[at]) ? 1 : 2));
}

function isRecovery(later: Entry | undefined, { order: { transition: failure } }: Entry): boolean {
  const { kind, episode } = later?.order.transition ?? {};
  return failure?.kind === "opened" && kind === "resolved" && episode === failure.episode;
}

export type AttemptResult = {
  /** The sequence of the event that was tried. */
  sequence: number;
  outcome: Outcome;
  atMs: number;
  /** From 0 to 1: jitter, so that checks do not retry the same receiver at the same moment. */
  random: number;
};

/** Applies the outcome of an attempt. */
export function applyOutcome(queue: Queue, result: AttemptResult, giveUpAfterMs: number): Step {
  const { outcome, sequence, atMs } = result;
  const tried = queue.waiting.find((entry) => entry.sequence === sequence);
  invariant(tried !== undefined, "an attempt ended of an event that does not wait");
  const cause = wordsOf(outcome);
  const attempts = tried.attempts + (wasSent(outcome) ? 1 : 0);
  const entry = { ...tried, attempts, cause };
  const inTurn = withoutProbe(queue);
  switch (outcome.kind) {
    case "accepted":
      return accept(inTurn, entry, atMs);
    case "refused":
      return addDeadLetter(inTurn, entry);
    case "unconfigured":
      return withRecords([record(entry, "not_posted")], advance(without(inTurn, entry)));
    case "retry": {
      const isFirst = tried === queue.waiting[0];
      // An event tried out of order may have arrived, unless its token was refused: keep trying it, since
      // no older event may arrive after it.
      const isFault = isOfChannel(outcome);
      const known = replace(isFirst || isFault ? inTurn : queue, entry);
      const waitMs = retryWaitMs(tried.attempts, { ...result, ...outcome, isFault });
      const lastedMs = atMs + waitMs - entry.queuedAtMs;
      if (hasExpired(entry, { lastedMs, giveUpAfterMs, dead: queue.dead })) {
        return addDeadLetter(withoutProbe(known), { ...entry, cause: `${givenUp}${cause}` });
      }
      const probe = isFault ? findProbe(known, entry) : undefined;
      if (probe === undefined) return postpone(known, entry, { waitMs, atMs });
      return withRecords([record(entry, "pending")], advance({ ...known, probe }));
    }
  }
}

const givenUp = "given up: ";

/**
 * True if the time for retries is over. A minimum of attempts, far fewer than fit into that time, keeps a clock that
 * jumps days ahead from making a dead letter of a new event. After another event was given up there is no minimum:
 * those behind it have waited as long.
 */
function hasExpired(
  { attempts }: Entry,
  times: { lastedMs: number; giveUpAfterMs: number; dead: Queue["dead"] },
): boolean {
  const { lastedMs, giveUpAfterMs, dead } = times;
  const isNext = dead.some(({ cause }) => cause?.startsWith(givenUp));
  const fewest = isNext ? 0 : Math.min(100, Math.floor(giveUpAfterMs / hourMs));
  return lastedMs > giveUpAfterMs && attempts >= fewest;
}

/**
 * After so many refusals of the token, a few seconds, the receiver may be refusing this one event. People
 * must be notified that the check fails again: from then on the newest failure is tried as well.
 */
const probeAfterAttempts = 3;

/** The sequence of the newest failure behind the first event; undefined: none waits, or it is too early. */
function findProbe({ waiting: [first, ...later] }: Queue, tried: Entry): number | undefined {
  if (tried !== first || tried.attempts < probeAfterAttempts) return undefined;
  return later.findLast(({ order }) => order.transition?.kind === "opened")?.sequence;
}

function findDue({ waiting, probe }: Queue): Entry | undefined {
  return waiting.find(({ sequence }) => sequence === probe) ?? waiting[0];
}

/** null: the event is not known. `superseded`: a newer event makes it out of date. */
export type Retry =
  | { queue: Queue; eventIds: string[]; isDue: boolean; records: EventRecord[] }
  | "superseded"
  | null;

/** Enqueues a dead letter again, a failure with its recovery; a waiting event becomes due. */
export function retry(queue: Queue, eventId: string, nowMs: number): Retry {
  if (queue.waiting.some((entry) => idOf(entry) === eventId)) {
    return { queue: withoutProbe(queue), eventIds: [eventId], isDue: true, records: [] };
  }
  const requested = queue.dead.find((entry) => idOf(entry) === eventId);
  if (requested === undefined) return null;
  // A newer event that waits may be accepted at any moment.
  if (queue.waiting.some(({ sequence }) => sequence > requested.sequence)) return "superseded";
  const again = queue.dead
    .filter((entry) => isOfOne(entry, requested))
    .map((entry) => ({ ...entry, queuedAtMs: nowMs, attempts: 0, cause: null }));
  const dead = queue.dead.filter((entry) => !isOfOne(entry, requested));
  const records = again.map((entry) => record(entry, "pending"));
  const longer = { ...queue, waiting: [...queue.waiting, ...again], dead };
  return { queue: longer, eventIds: again.map(idOf), isDue: isIdle(queue), records };
}

/** Attempts the first event, after removing recoveries whose failure was not accepted. */
function advance(queue: Queue): Step {
  const head = queue.waiting[0];
  if (head === undefined) return unchanged(queue);
  if (isOrphan(queue, head.order)) return withdraw(queue, head);
  const next = { ...queue, generation: queue.generation + 1 };
  return { queue: next, post: findDue(queue) ?? head, retryAfterMs: null, records: [] };
}

/** A recovery without a delivered failure. Sent before its failure, it would leave the alert open for ever. */
function isOrphan({ accepted }: Queue, { transition }: Order): boolean {
  if (transition?.kind !== "resolved") return false;
  return accepted?.kind !== "opened" || accepted.episode !== transition.episode;
}

/** If the failure is a dead letter the recovery becomes one too, so that both are sent again together. */
function withdraw(queue: Queue, head: Entry): Step {
  const isFailureDead = queue.dead.some((entry) => isOfOne(entry, head));
  const entry = { ...head, cause: "its failure was not delivered" };
  if (isFailureDead) return addDeadLetter(queue, entry);
  return withRecords([record(entry, "not_posted")], advance(without(queue, head)));
}

function accept(queue: Queue, entry: Entry, atMs: number): Step {
  const { transition } = entry.order;
  const { episode, kind } = transition ?? {};
  const last = { eventId: idOf(entry), ...(transition && { episode, kind }) };
  const isNewer = ({ sequence }: Entry) => sequence > entry.sequence;
  const dead = queue.dead.filter(isNewer);
  const waiting = queue.waiting.filter(isNewer);
  const rest = { ...queue, waiting, dead, accepted: last };
  const superseded = [...queue.dead, ...queue.waiting]
    .filter(({ sequence }) => sequence < entry.sequence)
    .map((old) => record(old, "superseded"));
  const accepted = { ...record(entry, "accepted"), acceptedAtMs: atMs };
  return withRecords([accepted, ...superseded], advance(rest));
}

function addDeadLetter(queue: Queue, entry: Entry): Step {
  const all = [...queue.dead, entry];
  const dead = all.slice(-maxDead);
  const dropped = all.slice(0, -maxDead).map((old) => record(old, "superseded"));
  const rest = advance({ ...without(queue, entry), dead });
  return withRecords([record(entry, "dead"), ...dropped], rest);
}

function postpone(queue: Queue, entry: Entry, wait: { waitMs: number; atMs: number }): Step {
  const pending = { ...record(entry, "pending"), nextAttemptAtMs: wait.atMs + wait.waitMs };
  return {
    queue: { ...queue, generation: queue.generation + 1 },
    post: null,
    retryAfterMs: wait.waitMs,
    records: [pending],
  };
}

function replace(queue: Queue, entry: Entry): Queue {
  const isSame = ({ sequence }: Entry) => sequence === entry.sequence;
  return { ...queue, waiting: queue.waiting.map((old) => (isSame(old) ? entry : old)) };
}

function without(queue: Queue, { sequence }: Entry): Queue {
  return { ...queue, waiting: queue.waiting.filter((entry) => entry.sequence !== sequence) };
}

function withoutProbe({ probe: _probe, ...queue }: Queue): Queue {
  return queue;
}

function record(entry: Entry, status: EventStatus): EventRecord {
  return { entry, status, nextAttemptAtMs: null, acceptedAtMs: null };
}

function withRecords(records: EventRecord[], step: Step): Step {
  return { ...step, records: [...records, ...step.records] };
}

function unchanged(queue: Queue): Step {
  return { queue, post: null, retryAfterMs: null, records: [] };
}
