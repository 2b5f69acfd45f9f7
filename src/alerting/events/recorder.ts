/** Writes down what becomes of events, off the path of the delivery: a database that is down holds up nothing else. */
import { implement } from "@restatedev/restate-sdk";
import type { AlertTransition } from "#monitor/contract.ts";
import { alertRecord } from "./internal.ts";
import type { EventRecord } from "./queue.ts";
import type { EventStore } from "./store.ts";

/** Told when the receiver accepted an event; twice when a crash comes between. */
export type NoteAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

type RecorderParts = { store: Pick<EventStore, "save">; noteAccepted: NoteAccepted };

export function createAlertRecorder({ store, noteAccepted }: RecorderParts) {
  const write = async (record: EventRecord) => {
    await store.save(record);
    const { entry, acceptedAtMs } = record;
    if (acceptedAtMs !== null) await noteAccepted(entry.order.transition, acceptedAtMs);
  };
  return implement(alertRecord, {
    handlers: {
      save: async (ctx, { records }) => {
        await ctx.run("save-events", async () => {
          for (const record of records) await write(record);
        });
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
