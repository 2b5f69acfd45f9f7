/** Creates all objects and services of the alert delivery. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { Counter, Gauge, type Registry } from "prom-client";
import type { AnyChannel, FindChannel, SendToChannel } from "#alerts/channels/message.ts";
import { type TestParts, testChannel } from "#alerts/channels/test-channel.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { inTime, onceAtATime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import { whyUnwritable } from "#kernel/database-faults.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { asTerminalError, toTerminalError, unkept } from "#kernel/restate.ts";
import { type Attempt, createAttempt } from "./attempt.ts";
import {
  type AlertEventProblemCode,
  type AlertTransition,
  alertEvents,
  type DrillOutcome,
  type Environment,
  queueOf,
} from "./contract.ts";
import { alertQueue, alertRecord } from "./internal.ts";
import { type ChannelsOf, createAlertQueue, createNotices } from "./object.ts";
import { channelOf, type RoutedOrder } from "./order.ts";
import type { LinkTo } from "./payload.ts";
import { createPreview, type PreviewEvent } from "./preview.ts";
import type { EventRecord } from "./queue.ts";
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

/** Called when the receiver has accepted an event; twice after a crash in between. */
type RecordAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

/** Sends a call that carries the outcome of a drill; the same one may come twice. */
type NotifyDrill = (ctx: ObjectContext, outcome: DrillOutcome) => void;

type RecorderParts = {
  store: Pick<EventStore, "save" | "retriedBy">;
  recordAccepted: RecordAccepted;
  notifyDrill: NotifyDrill;
};

/** Stores the delivery status of events apart from the delivery, which a database that is down must not delay. */
export function createAlertRecorder({ store, recordAccepted, notifyDrill }: RecorderParts) {
  const recordOutcome = async ({ entry, acceptedAtMs }: EventRecord): Promise<void> => {
    const { transition } = entry.order;
    if (acceptedAtMs === null || transition === undefined) return;
    if (transition.isOfChannel === true || transition.drill !== undefined) return;
    await recordAccepted(transition, acceptedAtMs);
  };
  return implement(alertRecord, {
    handlers: {
      save: async (ctx, { records }) => {
        // First: a database that is down must not fail a drill that arrived.
        for (const outcome of records.flatMap(drillOutcomesOf)) notifyDrill(ctx, outcome);
        const faults = await ctx.run("save-events", () =>
          Promise.all(
            records.flatMap((record) => [
              whyUnwritable(() => store.save(record)),
              whyUnwritable(() => recordOutcome(record)),
            ]),
          ),
        );
        for (const fault of faults.filter((one) => one !== null)) {
          ctx.console.error("alert record given up", { fault });
        }
        return null;
      },
      retriedBy: async (ctx, retried) => {
        const fault = await ctx.run("save-retry", () =>
          whyUnwritable(() => store.retriedBy(retried)),
        );
        if (fault !== null) ctx.console.error("alert record given up", { fault });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}

/** Empty: it is no failure of a drill, or it waits for its next attempt. */
export function drillOutcomesOf({ entry, status }: EventRecord): DrillOutcome[] {
  const { transition } = entry.order;
  if (transition?.drill === undefined) return [];
  const { kind, drill, episode } = transition;
  if (kind !== "opened" || status === "pending") return [];
  return [{ drill, episode, channel: channelOf(entry.order), status }];
}

const limits = { limitMs: 10_000, problem: "alert events cannot be read" };
const listing = databaseRead("list-events", limits);
const finding = databaseRead("find-event", limits);

type Parts = {
  store: Pick<EventStore, "list" | "find">;
  preview: PreviewEvent;
  readActor: ReadActor;
  test: TestParts;
};

/** The operators' queries and actions as a Restate service, called through the gateway like the rest. */
export function createAlertEvents({ store, preview, readActor, test }: Parts) {
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
        const queue = queueOf(event_id);
        if (queue === undefined) throw toTerminalError(unknownEvent(event_id));
        const retry = await ctx.client(alertQueue, queue).retry({ eventId: event_id });
        const { event_ids: eventIds } = retry;
        const by = nameOf(readActor(ctx));
        ctx.console.info("alert events sent again", { events: eventIds, by });
        // After what the queue has sent there: the rows exist by then.
        ctx.sendClient(alertRecord, queue).retriedBy({ eventIds, by });
        return retry;
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

function unknownEvent(eventId: string) {
  return new ProblemError<AlertEventProblemCode>({
    status: 404,
    code: "unknown_event",
    detail: `there is no event ${eventId}; \`vedette alerts events\` lists the events`,
  });
}

type ReadChannels = (how?: { isFresh: boolean }) => Promise<readonly AnyChannel[]>;

export type AlertDeliveryParts = {
  sourceOf: SourceOf;
  linkTo: LinkTo;
  attemptTimeoutMs: number;
  giveUpAfterMs: number;
  keepDays: number;
  database: Database;
  recordAccepted: RecordAccepted;
  notifyDrill: NotifyDrill;
  registry: Registry;
  readActor: ReadActor;
  send: SendToChannel;
  /** The Slack webhook that the settings name for the key of a topic; empty: none. */
  webhookUrlOf: (topicKey: string) => string;
  channelsOf: ChannelsOf;
  /** The channels of the definitions in force; fresh: not those of a moment ago. */
  readChannels: ReadChannels;
};

export function createAlertDelivery(parts: AlertDeliveryParts) {
  const { database, registry, giveUpAfterMs, recordAccepted, notifyDrill, keepDays } = parts;
  const store = createEventStore(database, { keepDays });
  const findChannel = createFindChannel(parts.readChannels);
  const attempt = createAttempt({ ...parts, findChannel, timeoutMs: parts.attemptTimeoutMs });
  const preview = createPreview({ ...parts, findChannel });
  exposeEvents(store.count, registry);
  return [
    createNotices(parts.channelsOf),
    createAlertQueue({ attempt: countAttempts(attempt, registry), giveUpAfterMs }),
    createAlertRecorder({ store, recordAccepted, notifyDrill }),
    createAlertEvents({
      store,
      preview,
      readActor: parts.readActor,
      test: {
        readChannels: () => parts.readChannels({ isFresh: true }),
        send: parts.send,
        testSource: (environment, atMs) => attempt(sourceTest(environment, atMs)),
      },
    }),
  ];
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
  const checkId = "vedette-channel-test";
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
