/**
 * Delivers events and notices: a loop of each worker takes the queues that are due, makes their attempts at the same time,
 * and stores the outcomes in groups. A queue has one attempt at a time. When a process is killed its leases end, and
 * another one repeats the attempts; so it is with an outcome that cannot be stored before the process ends.
 */
import { inTime, onceAtATime, pause, startBackground } from "#kernel/async.ts";
import { createGroups } from "#kernel/groups.ts";
import type { Log } from "#kernel/log.ts";
import { inTrace, traceCall } from "#kernel/tracing.ts";
import type { Attempt } from "./attempt.ts";
import type { DrillOutcome } from "./contract.ts";
import { channelOf, eventIdOf, type Order, traceOf } from "./order.ts";
import { type Outcome, tokenRefused } from "./outcome.ts";
import type { Step } from "./queue.ts";
import {
  type AcceptedEvent,
  acceptedOf,
  type DueAttempt,
  drillOutcomesOf,
  type EndedAttempt,
  type QueueStore,
} from "./queue-store.ts";

export type Delivery = {
  start: () => void;
  /** Lets attempts that are under way end, for some seconds. */
  stop: () => Promise<void>;
  /** Looks for due queues at once: call it after a commit that enqueued. Several calls before it does are one. */
  wake: () => void;
};

export type DeliveryParts = {
  queues: QueueStore;
  attempt: Attempt;
  /** Sends a call that carries the outcome of a drill; the same one may come twice. */
  notifyDrill: (outcome: DrillOutcome) => Promise<void>;
  /** Called once the outcome of its attempt is stored. */
  countAccepted?: ((event: AcceptedEvent) => void) | undefined;
  /** Deletes events that are too old. */
  dropOld: () => Promise<void>;
  log: Log;
};

/** The most queues that are taken together. */
const batch = 250;
/** The most attempts at one channel, so that one that hangs leaves room for others; and at all of them. */
const mostAtChannel = 500;
const mostAttempts = 2_000;
const lookEveryMs = 1_000;
/** Leases last 5 s. */
const renewEveryMs = 2_000;
const tidyEveryMs = 60_000;
const stopWithinMs = 5_000;

export function createDelivery(parts: DeliveryParts): Delivery {
  const { queues, log } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const look = createWaker();
  const outage = createOutage(log);
  const notifyDrills = createNotifyDrills(parts);
  const { wake } = look;
  const attempts = createAttempts(parts, { signal, outage, wake, notifyDrills });

  const take = async (): Promise<{ isMore: boolean }> => {
    const limit = Math.min(batch, mostAttempts - attempts.held.size);
    if (limit <= 0) return { isMore: false };
    const held = [...attempts.held.keys()];
    const taken = await queues.take({ limit, held, crowded: findCrowded(held) });
    attempts.start(taken.due);
    return taken;
  };
  const lookForDue = async () => {
    while (!signal.aborted) {
      const taken = await outage.watch(take);
      if (taken === undefined) await pause(lookEveryMs, signal);
      else if (!taken.isMore) await look.wait(lookEveryMs);
    }
  };
  const renewLeases = async () => {
    if (attempts.held.size > 0) await queues.renew([...attempts.held.values()]);
    void notifyDrills();
  };
  const tidy = async () => {
    await queues.correct();
    await parts.dropOld();
  };
  const repeat = (work: () => Promise<void>, everyMs: number) =>
    startBackground(async (ending) => {
      while (!ending.aborted) {
        await outage.watch(work);
        await pause(everyMs, ending);
      }
    });

  let stop = async () => {};
  return {
    wake,
    start: () => {
      const looking = lookForDue();
      const repeated = [repeat(renewLeases, renewEveryMs), repeat(tidy, tidyEveryMs)];
      stop = async () => {
        stopping.abort();
        wake();
        await looking;
        await inTime(attempts.ended, { limitMs: stopWithinMs, otherwise: undefined });
        for (const one of repeated) await one.stop();
      };
    },
    stop: () => stop(),
  };
}

type AttemptContext = {
  /** Aborted when no further attempts are to be made. */
  signal: AbortSignal;
  outage: ReturnType<typeof createOutage>;
  wake: () => void;
  notifyDrills: () => Promise<void>;
};

/** Makes the attempts of the queues that this process has, each of them until nothing is due. */
function createAttempts(parts: DeliveryParts, context: AttemptContext) {
  const { signal, outage, wake, notifyDrills } = context;
  const held = new Map<string, DueAttempt>();
  const running = new Set<Promise<void>>();
  const finish = createGroups(parts.queues.finish);

  const follow = ({ records, retryAfterMs }: Step) => {
    for (const event of records.flatMap(acceptedOf)) parts.countAccepted?.(event);
    if (retryAfterMs !== null) setTimeout(wake, retryAfterMs + 1).unref();
    if (records.some((record) => drillOutcomesOf(record).length > 0)) void notifyDrills();
  };
  const store = async (ended: EndedAttempt): Promise<DueAttempt | null> => {
    let stored = await outage.watch(() => finish(ended));
    while (stored === undefined && !signal.aborted) {
      await pause(lookEveryMs, signal);
      stored = await outage.watch(() => finish(ended));
    }
    const { step = null, next = null } = stored ?? {};
    if (step !== null) follow(step);
    return signal.aborted ? null : next;
  };
  const deliver = async (first: DueAttempt) => {
    let due: DueAttempt | null = first;
    while (due !== null) {
      held.set(due.key, due);
      const outcome = await attemptTraced(due.post.order, parts.attempt);
      report(parts.log, due.post.order, outcome);
      due = await store({ ...due, outcome, endedAtMs: performance.now() });
    }
    held.delete(first.key);
    // Orders that came meanwhile were left in the outbox.
    wake();
  };
  return {
    held,
    start: (due: readonly DueAttempt[]) => {
      for (const one of due) {
        const delivery = deliver(one).finally(() => running.delete(delivery));
        running.add(delivery);
      }
    },
    ended: async () => void (await Promise.allSettled(running)),
  };
}

/** Attempts it below the span of its message. */
function attemptTraced(order: Order, attempt: Attempt): Promise<Outcome> {
  const call = {
    name: `deliver ${channelOf(order)}`,
    attributes: { "vedette.channel": channelOf(order) },
  };
  return inTrace(traceOf(order), () => traceCall(call, () => attempt(order))).catch(toRetry);
}

/** Returns the channels with the most attempts, as they are in the keys of queues; empty for the incident service. */
function findCrowded(keys: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const channel = key.split("@")[1] ?? "";
    counts.set(channel, (counts.get(channel) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count >= mostAtChannel).map(([channel]) => channel);
}

function createWaker() {
  let isWoken = false;
  let resume = () => {};
  return {
    wake: () => {
      isWoken = true;
      resume();
    },
    /** Waits until `wake` is called, or was called since the last wait. */
    wait: async (ms: number): Promise<void> => {
      const woken = Promise.withResolvers<void>();
      const timer = setTimeout(woken.resolve, ms);
      resume = woken.resolve;
      if (!isWoken) await woken.promise;
      clearTimeout(timer);
      isWoken = false;
    },
  };
}

/** Warns once per outage of the database. */
function createOutage(log: Log) {
  let isAway = false;
  return {
    /** Returns undefined if the work failed. */
    watch: async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
      try {
        const result = await work();
        isAway = false;
        return result;
      } catch (err) {
        if (!isAway) log.warn({ err }, "alert events wait for the database");
        isAway = true;
        return undefined;
      }
    },
  };
}

/** Outcomes stay in the database until Restate has taken them. */
function createNotifyDrills({ queues, notifyDrill, log }: DeliveryParts): () => Promise<void> {
  const notifyAll = async () => {
    for (const { key, outcomes } of await queues.readDrillOutcomes()) {
      try {
        for (const outcome of outcomes) await notifyDrill(outcome);
        await queues.dropDrillOutcomes(key, outcomes);
      } catch (err) {
        log.warn({ err, key }, "drill outcome not sent yet");
      }
    }
  };
  const notifyOnce = onceAtATime(notifyAll);
  return () => notifyOnce().catch((err) => log.debug({ err }, "drill outcome not sent yet"));
}

/** An order that cannot be sent, of another version for example, must end neither the process nor other queues. */
function toRetry(error: Error): Outcome {
  return { kind: "retry", cause: `it cannot be sent: ${error.message}` };
}

function report(log: Log, order: Order, outcome: Outcome): void {
  const event = eventIdOf(order);
  const channel = channelOf(order);
  switch (outcome.kind) {
    case "accepted":
      log.info({ event, remark: outcome.remark }, "alert event accepted");
      break;
    case "retry":
      if (outcome.isTokenRefused || outcome.isChannelFault) {
        const words = outcome.isTokenRefused ? tokenRefused : "the channel refuses all events";
        log.error({ event, channel, cause: outcome.cause }, words);
      } else {
        log.warn({ event, cause: outcome.cause }, "alert event not delivered yet");
      }
      break;
    case "refused":
      log.error({ event, cause: outcome.cause }, "alert event refused");
      break;
    case "unconfigured":
      if ("notice" in order) {
        log.debug({ event, cause: outcome.cause }, "notice not posted");
      } else if (outcome.cause === undefined) {
        log.info({ event }, "alert event not posted: no source in the settings");
      } else {
        log.warn({ event, cause: outcome.cause }, "alert event not posted");
      }
      break;
  }
}
