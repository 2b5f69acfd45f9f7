/**
 * What becomes of a check's events: pure decisions over its durable queue. The first one that waits is
 * the one that is being delivered; nothing overtakes it but the newest failure, when the receiver takes
 * that and not the first. Times are Unix ms.
 */
import type { AlertOrder, EventStatus } from "#alerts/contract.ts";
import { invariant } from "#kernel/invariant.ts";
import type { Environment } from "./contract.ts";
import { type Outcome, retryWaitMs } from "./outcome.ts";

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
  /** The sequence of the one that is being tried out of turn; absent: the first is tried. */
  probe?: number;
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
const hourMs = 60 * 60_000;
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
  const gone = findSurplus(longer);
  const waiting = longer.waiting.filter((one) => !gone.includes(one));
  const superseded = gone.map((one) => record(one, "superseded"));
  return withRecords([record(entry, "pending"), ...superseded], nothing({ ...longer, waiting }));
}

/** Of a check that flaps while the receiver is away: what is kept of it has to stay small. */
const mostWaiting = 1_000;

/** Of too many the oldest episode that is over, but for the one that is being tried. */
function findSurplus({ waiting, probe }: Queue): Entry[] {
  if (waiting.length <= mostWaiting) return [];
  const at = waiting.findIndex(
    (entry, i) => i > 0 && entry.sequence !== probe && isRecovery(waiting[i + 1], entry),
  );
  return at === -1 ? [] : waiting.slice(at, at + 2);
}

function isRecovery(later: Entry | undefined, { order: { transition: failure } }: Entry): boolean {
  const { kind, episode } = later?.order.transition ?? {};
  return failure.kind === "opened" && kind === "resolved" && episode === failure.episode;
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
export function applyOutcome(queue: Queue, settlement: Settlement, giveUpAfterMs: number): Step {
  const { outcome, beganAtMs, atMs } = settlement;
  const tried = findDue(queue);
  invariant(tried !== undefined, "an attempt ended that was none at an event");
  const cause = "cause" in outcome ? outcome.cause : null;
  const queuedAtMs = tried.queuedAtMs ?? beganAtMs;
  const entry = { ...tried, queuedAtMs, attempts: tried.attempts + 1, cause };
  const inTurn = withoutProbe(queue);
  switch (outcome.kind) {
    case "accepted":
      return accept(inTurn, entry, atMs);
    case "refused":
      return bury(inTurn, entry);
    case "unconfigured":
      return withRecords([record(entry, "not_posted")], advance(without(inTurn, entry)));
    case "retry": {
      const isFirst = tried === queue.waiting[0];
      // Out of turn it may have arrived, unless it was refused: then nothing older may follow it.
      const known = replace(isFirst || outcome.isTokenRefused ? inTurn : queue, entry);
      const waitMs = retryWaitMs(tried.attempts, { ...settlement, ...outcome });
      const lastedMs = atMs + waitMs - queuedAtMs;
      if (isTimeOver(entry, { lastedMs, giveUpAfterMs, dead: queue.dead })) {
        return bury(withoutProbe(known), { ...entry, cause: `${givenUp}${cause}` });
      }
      const probe = outcome.isTokenRefused ? findProbe(known, entry) : undefined;
      if (probe === undefined) return postpone(known, entry, { waitMs, atMs });
      return withRecords([record(entry, "pending")], advance({ ...known, probe }));
    }
  }
}

const givenUp = "given up: ";

/**
 * Many fewer attempts than fit into the time: a clock that jumps days ahead makes no dead letter of a fresh event.
 * What waited behind one that was given up waited for that long, too.
 */
function isTimeOver(
  { attempts }: Entry,
  {
    lastedMs,
    giveUpAfterMs,
    dead,
  }: { lastedMs: number; giveUpAfterMs: number; dead: Queue["dead"] },
): boolean {
  const isNext = dead.some(({ cause }) => cause?.startsWith(givenUp));
  const fewest = isNext ? 0 : Math.min(100, Math.floor(giveUpAfterMs / hourMs));
  return lastedMs > giveUpAfterMs && attempts >= fewest;
}

/**
 * After so many refusals of the token, a few seconds, it may be this one event that the receiver does not take.
 * People are to hear that the check fails again: the newest failure is tried as well from then on.
 */
const heldUpAfter = 3;

/** The sequence of the newest failure behind the first event; undefined: none waits, or it is not time yet. */
function findProbe({ waiting: [first, ...later] }: Queue, tried: Entry): number | undefined {
  if (tried !== first || tried.attempts < heldUpAfter) return undefined;
  return later.findLast(({ order }) => order.transition.kind === "opened")?.sequence;
}

function findDue({ waiting, probe }: Queue): Entry | undefined {
  return waiting.find(({ sequence }) => sequence === probe) ?? waiting[0];
}

/** null: the event is not known. `superseded`: it would tell what is no longer so. */
export type Retry = { step: Step; eventIds: string[] } | "superseded" | null;

/** Sends a dead letter again, a failure with its recovery; or the first that waits, at once. */
export function retry(queue: Queue, eventId: string, nowMs: number): Retry {
  if (queue.waiting.some((entry) => idOf(entry) === eventId)) {
    return { step: advance(withoutProbe(queue)), eventIds: [eventId] };
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
  return { queue: next, post: findDue(queue) ?? head, wakeAfterMs: lostAfterMs, records: [] };
}

/** Never a recovery before its failure was delivered: the alert would stay open for ever. */
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
  return withRecords([record(entry, "not_posted")], advance(without(queue, head)));
}

function accept(queue: Queue, entry: Entry, atMs: number): Step {
  const { eventId, episode, kind } = entry.order.transition;
  const isNewer = ({ sequence }: Entry) => sequence > entry.sequence;
  const dead = queue.dead.filter(isNewer);
  const waiting = queue.waiting.filter(isNewer);
  const rest = { ...queue, waiting, dead, accepted: { eventId, episode, kind } };
  const superseded = [...queue.dead, ...queue.waiting]
    .filter(({ sequence }) => sequence < entry.sequence)
    .map((old) => record(old, "superseded"));
  const accepted = { ...record({ ...entry, cause: null }, "accepted"), acceptedAtMs: atMs };
  return withRecords([accepted, ...superseded], advance(rest));
}

function bury(queue: Queue, entry: Entry): Step {
  const all = [...queue.dead, entry];
  const dead = all.slice(-mostDead);
  const forgotten = all.slice(0, -mostDead).map((old) => record(old, "superseded"));
  const rest = advance({ ...without(queue, entry), dead });
  return withRecords([record(entry, "dead"), ...forgotten], rest);
}

function postpone(queue: Queue, entry: Entry, wait: { waitMs: number; atMs: number }): Step {
  const pending = { ...record(entry, "pending"), nextAttemptAtMs: wait.atMs + wait.waitMs };
  return {
    queue: { ...queue, generation: queue.generation + 1 },
    post: null,
    wakeAfterMs: wait.waitMs,
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

function nothing(queue: Queue): Step {
  return { queue, post: null, wakeAfterMs: null, records: [] };
}
