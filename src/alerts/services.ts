/** Creates the delivery of alerts, and the services through which others post notices and operators read and retry. */
import { implement } from "@restatedev/restate-sdk";
import { Counter, Gauge, type Registry } from "prom-client";
import type { AnyChannel, FindChannel, SendToChannel } from "#alerts/channels/message.ts";
import { type TestParts, testChannel } from "#alerts/channels/test-channel.ts";
import type { ReadExplained } from "#blame/contract.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { inTime, onceAtATime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, toTerminalError, unkept } from "#kernel/restate.ts";
import { type Attempt, createAttempt } from "./attempt.ts";
import {
  type AlertEventProblemCode,
  alertEvents,
  directQueueKey,
  type Environment,
  formatNoticeId,
  notices,
  queueOf,
} from "./contract.ts";
import { createDelivery, type DeliveryParts } from "./delivery.ts";
import { channelOf, type RoutedOrder } from "./order.ts";
import { enqueue } from "./outbox.ts";
import type { LinkTo } from "./payload.ts";
import { createPreview, type PreviewEvent } from "./preview.ts";
import { createQueueStore, type QueueStore, type RecordAccepted } from "./queue-store.ts";
import type { SourceOf } from "./source.ts";
import { createEventStore, type EventCounts, type EventStore } from "./store.ts";

// Metrics of alert events; the metrics of the checks have how long deliveries take.

/** Wraps an attempt to count its outcomes. */
export function countAttempts(attempt: Attempt, registry: Registry): Attempt {
  const attempts = new Counter({
    name: "vedette_alert_attempts_total",
    help: "Delivery attempts of alert events, by outcome.",
    labelNames: ["channel", "outcome"],
    registers: [registry],
  });
  return async (order) => {
    const outcome = await attempt(order);
    attempts.inc({ channel: channelOf(order), outcome: outcome.kind });
    return outcome;
  };
}

type Count = () => Promise<EventCounts>;

/** Queries the database at each scrape; while it does not answer, these metrics are absent. */
export function exposeEvents(count: Count, registry: Registry): void {
  const countOnce = shareCall(count);
  const show = (name: string, help: string, of: (counts: EventCounts) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.reset();
        const counts = await countOnce();
        if (counts === null) this.remove();
        else this.set(of(counts));
      },
    });
  show("vedette_alert_events_pending", "Alert events on their way.", ({ pending }) => pending);
  show(
    "vedette_alert_events_oldest_pending_seconds",
    "How long the oldest alert event has been on its way; 0: there is none.",
    (counts) => counts.oldestPendingSeconds,
  );
  show(
    "vedette_alert_events_token_refused",
    "Alert events on their way that the receiver refused for the source's token.",
    (counts) => counts.tokenRefused,
  );
  show("vedette_alert_dead_letters", "Alert events that are dead letters.", ({ dead }) => dead);
}

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const countTimeoutMs = 2_000;

/** Concurrent callers share one query; null: it failed or timed out. */
function shareCall(count: Count): () => Promise<EventCounts | null> {
  return onceAtATime(() => inTime(count, { limitMs: countTimeoutMs, otherwise: null }));
}

/** The ids of the rows that get the notices of a topic's key, besides the webhook of the settings. */
export type ChannelsOf = (topicKey: string, event: string | undefined) => string[];

type NoticeParts = AlertParts & { wake: () => void };

/** Hands each notice to the queues of its channels. */
function createNotices(parts: NoticeParts) {
  const { database, channelsOf, wake, readExplained } = parts;
  return implement(notices, {
    handlers: {
      post: async (ctx, given) => {
        const { key: topic } = ctx;
        await ctx.run("enqueue-notice", async () => {
          const lines = (await readExplained?.(given)) ?? given.lines;
          const notice = { ...given, lines };
          const others = channelsOf(topic, notice.rollout?.event);
          const orders = [topic.replace(/\/.*/, ""), ...others].map((channel) => {
            const queue = directQueueKey(topic, channel);
            const eventId = formatNoticeId(queue, notice);
            return { queue, order: { eventId, notice, atMs: Date.now(), channel, topic } };
          });
          await enqueue(database, orders);
        });
        wake();
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

const limits = { limitMs: 10_000, problem: "alert events cannot be read" };
const listing = databaseRead("list-events", limits);
const finding = databaseRead("find-event", limits);
const retrying = databaseRead("retry-event", {
  limitMs: 10_000,
  problem: "alert events cannot be sent again",
});

type Parts = {
  store: Pick<EventStore, "list" | "find">;
  queues: Pick<QueueStore, "retry">;
  wake: () => void;
  preview: PreviewEvent;
  readActor: ReadActor;
  test: TestParts;
};

/** The operators' queries and actions as a Restate service, called through the gateway like the rest. */
export function createAlertEvents({ store, preview, readActor, test, ...parts }: Parts) {
  return implement(alertEvents, {
    handlers: {
      List: (ctx, request) => readNow(ctx, listing, () => store.list(request)),
      Show: async (ctx, { event_id }) => {
        const found = await readNow(ctx, finding, async () => {
          const event = await store.find(event_id);
          return event && { ...event.view, ...(await preview(event.order)) };
        });
        if (found === null) throw toTerminalError(unknownEvent(event_id));
        const { address = null, body = null, ...view } = found;
        return { ...view, address, body: body as Record<string, unknown> | null };
      },
      Retry: async (ctx, { event_id }) => {
        const by = nameOf(readActor(ctx));
        const retry = () => retryEvent(parts.queues, event_id, by);
        const event_ids = await readNow(ctx, retrying, retry);
        ctx.console.info("alert events sent again", { events: event_ids, by });
        parts.wake();
        return { event_ids };
      },
      Test: async (ctx, { channel }) => {
        ctx.console.info("channel tested", { channel, by: nameOf(readActor(ctx)) });
        return testChannel(ctx, channel, test);
      },
    },
    options: {
      journalRetention: 0,
      asTerminalError,
      handlers: { List: unkept, Show: unkept },
    },
  });
}

async function retryEvent({ retry }: Pick<QueueStore, "retry">, eventId: string, by: string) {
  const key = queueOf(eventId);
  if (key === undefined) throw unknownEvent(eventId);
  const retried = await retry({ key, eventId, by });
  if (retried === null) throw notWaiting(eventId);
  if (retried === "superseded") throw superseded(eventId);
  return retried;
}

function notWaiting(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_event",
    detail: `${eventId} is neither a dead letter nor waiting; \`vedette alerts dead-letters\` lists the dead letters`,
  });
}

function superseded(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 409,
    code: "superseded_event",
    detail: `${eventId} cannot be sent again: a newer event of the check is being delivered, and this one would arrive after it`,
  });
}

function unknownEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_event",
    detail: `there is no event ${eventId}; \`vedette alerts events\` lists the events`,
  });
}

type ReadChannels = (how?: { isFresh: boolean }) => Promise<readonly AnyChannel[]>;

export type AlertParts = {
  sourceOf: SourceOf;
  /** Absent: the notice of a paused rollout says nothing of other changes. */
  readExplained?: ReadExplained;
  linkTo: LinkTo;
  attemptTimeoutMs: number;
  giveUpAfterMs: number;
  keepDays: number;
  database: Database;
  /** Of deliveries, which must not wait behind reads; absent: the same. */
  ownDatabase?: Database;
  recordAccepted: RecordAccepted;
  countAccepted?: DeliveryParts["countAccepted"];
  notifyDrill: DeliveryParts["notifyDrill"];
  registry: Registry;
  log: Log;
  readActor: ReadActor;
  send: SendToChannel;
  /** The Slack webhook that the settings name for the key of a topic; empty: none. */
  webhookUrlOf: (topicKey: string) => string;
  channelsOf: ChannelsOf;
  /** The channels of the definitions in force; fresh: not those of a moment ago. */
  readChannels: ReadChannels;
};

export function createAlertServices(parts: AlertParts) {
  const { database, ownDatabase = database, registry, keepDays } = parts;
  const store = createEventStore(database);
  const queues = createQueueStore({ ...parts, database: ownDatabase });
  const findChannel = createFindChannel(parts.readChannels);
  const once = createAttempt({ ...parts, findChannel, timeoutMs: parts.attemptTimeoutMs });
  const attempt = countAttempts(once, registry);
  const preview = createPreview({ ...parts, findChannel });
  exposeEvents(store.count, registry);
  const dropOld = () => store.dropOlderThan(keepDays);
  const delivery = createDelivery({ ...parts, queues, attempt, dropOld });
  const { wake } = delivery;
  const services = [
    createNotices({ ...parts, wake }),
    createAlertEvents({
      store,
      queues,
      wake,
      preview,
      readActor: parts.readActor,
      test: {
        readChannels: () => parts.readChannels({ isFresh: true }),
        send: parts.send,
        testSource: (environment, atMs) => once(sourceTest(environment, atMs)),
      },
    }),
  ];
  // An attempt apart from the queue of its event, and without a record of it: for while the database is away.
  return { services, delivery, sendNow: attempt };
}

const findTimeoutMs = 2_000;

/** A database that is away delays no event for longer: the order has the row as it was. */
function createFindChannel(readChannels: ReadChannels): FindChannel {
  return (id) =>
    inTime(
      async () => {
        const isIt = (row: AnyChannel) => row.id === id;
        const found =
          (await readChannels()).find(isIt) ?? (await readChannels({ isFresh: true })).find(isIt);
        return found ?? "removed";
      },
      { limitMs: findTimeoutMs, otherwise: undefined },
    );
}

/** Resolves an alert that was never open: it shows whether the source takes events, and notifies nobody. */
function sourceTest(environment: Environment, atMs: number): RoutedOrder {
  const checkId = "test:channel";
  return {
    transition: {
      kind: "resolved",
      eventId: `${checkId}:${atMs}:resolved`,
      checkId,
      episode: atMs,
      atMs,
      openedAtMs: atMs,
      reason: "vedette alerts test was called: no check has failed",
      locations: [],
      missedPings: null,
      rollout: null,
    },
    environment,
    channel: environment,
    name: "[TEST] Vedette tests this source:",
  };
}
