/** The operators' queries and actions as a Restate service, called through the gateway like the rest. */
import { implement } from "@restatedev/restate-sdk";
import { type AlertEventProblemCode, alertEvents, queueOf } from "#alerts/contract.ts";
import { nameOf, type ReadActor } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import { unkept } from "#kernel/retry-policy.ts";
import { asTerminalError, toTerminalError } from "#kernel/terminal.ts";
import { type TestParts, testChannel } from "./channels/test-channel.ts";
import { alertQueue, alertRecord } from "./internal.ts";
import type { PreviewEvent } from "./preview.ts";
import type { EventStore } from "./store.ts";

const limits = { limitMs: 10_000, problem: "alert events cannot be read" };
const listing = databaseRead("list-events", limits);
const finding = databaseRead("find-event", limits);

type Parts = {
  store: Pick<EventStore, "list" | "find">;
  preview: PreviewEvent;
  readActor: ReadActor;
  test: TestParts;
};

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
