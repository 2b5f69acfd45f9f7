/** Creates all objects and services of the alert delivery. */
import type { Registry } from "prom-client";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { createAttempt } from "./attempt.ts";
import type { FindChannel, SendToChannel } from "./channels/message.ts";
import { countAttempts, showEvents } from "./metrics.ts";
import { createAlertQueue } from "./object.ts";
import type { LinkToCheck } from "./payload.ts";
import { createPreview } from "./preview.ts";
import { createAlertRecorder, type NoteAccepted } from "./recorder.ts";
import { createAlertEvents } from "./service.ts";
import type { SourceOf } from "./source.ts";
import { createEventStore } from "./store.ts";

export type AlertDeliveryParts = {
  sourceOf: SourceOf;
  linkTo: LinkToCheck;
  attemptTimeoutMs: number;
  giveUpAfterMs: number;
  keepDays: number;
  database: Database;
  noteAccepted: NoteAccepted;
  registry: Registry;
  readActor: ReadActor;
  send: SendToChannel;
  /** The channels of the definitions in force. */
  readChannels: () => Promise<readonly AnyChannel[]>;
};

export function createAlertDelivery(parts: AlertDeliveryParts) {
  const { database, registry, giveUpAfterMs, noteAccepted, keepDays } = parts;
  const store = createEventStore(database, { keepDays });
  const attempt = createAttempt({ ...parts, timeoutMs: parts.attemptTimeoutMs });
  const preview = createPreview(parts);
  showEvents(store.count, registry);
  return [
    createAlertQueue({ attempt: countAttempts(attempt, registry), giveUpAfterMs }),
    createAlertRecorder({ store, noteAccepted }),
    createAlertEvents({ store, preview, readActor: parts.readActor }),
  ];
}
