/** Stores the delivery status of events apart from the delivery, which a database that is down must not delay. */
import { implement, type ObjectContext } from "@restatedev/restate-sdk";
import { whyUnwritable } from "#kernel/unwritable.ts";
import type { AlertTransition, DrillOutcome } from "./contract.ts";
import { alertRecord } from "./internal.ts";
import { channelOf } from "./order.ts";
import type { EventRecord } from "./queue.ts";
import type { EventStore } from "./store.ts";

/** Called when the receiver has accepted an event; twice after a crash in between. */
export type RecordAccepted = (event: AlertTransition, atMs: number) => Promise<void>;

/** Sends a call that carries the outcome of a drill; the same one may come twice. */
export type NotifyDrill = (ctx: ObjectContext, outcome: DrillOutcome) => void;

type RecorderParts = {
  store: Pick<EventStore, "save" | "retriedBy">;
  recordAccepted: RecordAccepted;
  notifyDrill: NotifyDrill;
};

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
