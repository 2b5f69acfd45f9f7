/** Metrics of alert events; the metrics of the checks have how long deliveries take. */
import { Counter, Gauge, type Registry } from "prom-client";
import { inTime } from "#kernel/in-time.ts";
import { onceAtATime } from "#kernel/once-at-a-time.ts";
import type { Attempt } from "./attempt.ts";
import { channelOf } from "./order.ts";
import type { EventCounts } from "./store.ts";

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
