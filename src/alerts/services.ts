/** Creates all objects and services of the alert delivery. */
import type { Registry } from "prom-client";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import { createAttempt } from "./attempt.ts";
import type { AnyChannel, FindChannel, SendToChannel } from "./channels/message.ts";
import type { Environment } from "./contract.ts";
import { countAttempts, exposeEvents } from "./metrics.ts";
import { type ChannelsOf, createAlertQueue, createNotices } from "./object.ts";
import type { RoutedOrder } from "./order.ts";
import type { LinkTo } from "./payload.ts";
import { createPreview } from "./preview.ts";
import { createAlertRecorder, type NotifyDrill, type RecordAccepted } from "./recorder.ts";
import { createAlertEvents } from "./service.ts";
import type { SourceOf } from "./source.ts";
import { createEventStore } from "./store.ts";

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
