/** Stores the delivery status of events apart from the delivery, which a database that is down must not delay. */
import { implement } from "@restatedev/restate-sdk";
import { whyUnwritable } from "#kernel/unwritable.ts";
import type { AlertTransition } from "./contract.ts";
import { alertRecord } from "./internal.ts";
import type { EventRecord } from "./queue.ts";
import type { EventStore } from "./store.ts";

/** Called when the receiver has accepted an event; twice after a crash in between. */
export type NoteAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

type RecorderParts = { store: Pick<EventStore, "save" | "retriedBy">; noteAccepted: NoteAccepted };

export function createAlertRecorder({ store, noteAccepted }: RecorderParts) {
  const note = async ({ entry, acceptedAtMs }: EventRecord): Promise<void> => {
    const { transition } = entry.order;
    if (acceptedAtMs === null || transition.isOfChannel === true) return;
    await noteAccepted(transition, acceptedAtMs);
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
