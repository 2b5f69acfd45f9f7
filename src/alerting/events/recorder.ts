/** Writes down what becomes of events, off the path of the delivery: a database that is down holds up nothing else. */
import { implement } from "@restatedev/restate-sdk";
import type { AlertTransition } from "#monitor/contract.ts";
import { alertRecord } from "./internal.ts";
import type { EventStore } from "./store.ts";

/** Told when the receiver accepted an event; twice when a crash comes between. */
export type NoteAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

type RecorderParts = { store: Pick<EventStore, "save">; noteAccepted: NoteAccepted };

export function createAlertRecorder({ store, noteAccepted }: RecorderParts) {
  return implement(alertRecord, {
    handlers: {
      save: async (ctx, { records }) => {
        await ctx.run("save-events", async () => {
          const notes = records.flatMap(({ entry, acceptedAtMs }) =>
            acceptedAtMs === null ? [] : [noteAccepted(entry.order.transition, acceptedAtMs)],
          );
          await Promise.all([store.save(records), ...notes]);
        });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
