/** Writes down what becomes of events, off the path of the delivery: a database that is down holds up nothing else. */
import { implement } from "@restatedev/restate-sdk";
import { whyUnwritable } from "#kernel/unwritable.ts";
import type { AlertTransition } from "./contract.ts";
import { alertRecord } from "./internal.ts";
import type { EventRecord } from "./queue.ts";
import type { EventStore } from "./store.ts";

/** Told when the receiver accepted an event; twice when a crash comes between. */
export type NoteAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

type RecorderParts = { store: Pick<EventStore, "save">; noteAccepted: NoteAccepted };

export function createAlertRecorder({ store, noteAccepted }: RecorderParts) {
  const note = async ({ entry, acceptedAtMs }: EventRecord): Promise<void> => {
    if (acceptedAtMs !== null) await noteAccepted(entry.order.transition, acceptedAtMs);
  };
  return implement(alertRecord, {
    handlers: {
      save: async (ctx, { records }) => {
        const faults = await ctx.run("save-events", () =>
          Promise.all(
            records.flatMap((record) => [
              whyUnwritable(() => store.save(record)),
              whyUnwritable(() => note(record)),
            ]),
          ),
        );
        for (const fault of faults.filter((known) => known !== null)) {
          ctx.console.error("alert record given up", { fault });
        }
        return null;
      },
    },
    options: { ingressPrivate: true, journalRetention: 0 },
  });
}
