/** What operators ask and do, as a Restate service: reached through the gateway like the rest. */
import { implement } from "@restatedev/restate-sdk";
import { alertEvents } from "#alerting/events-contract.ts";
import { alertQueue } from "./internal.ts";
import type { EventStore } from "./store.ts";

/** A caller waits: the database is not waited for longer than this. */
const patience = { maxRetryDuration: 15_000 };

export function createAlertEvents({ store }: { store: Pick<EventStore, "list"> }) {
  return implement(alertEvents, {
    handlers: {
      List: (ctx, request) => ctx.run("list-events", () => store.list(request), patience),
      Retry: (ctx, { event_id }) =>
        ctx.client(alertQueue, checkOf(event_id)).retry({ eventId: event_id }),
    },
    options: { journalRetention: 0 },
  });
}

/** Of `<check id>:<episode>:<kind>`. */
function checkOf(eventId: string): string {
  return eventId.replace(/:\d+:\w+$/, "");
}
