/** What Prometheus is told of alert events; how long deliveries take is told with the checks. */
import { Counter, Gauge, type Registry } from "prom-client";
import { inTime } from "#kernel/in-time.ts";
import type { Attempt } from "./attempt.ts";
import type { EventCounts } from "./store.ts";

/** The attempt, counting how it ends. */
export function countAttempts(attempt: Attempt, registry: Registry): Attempt {
  const attempts = new Counter({
    name: "vedette_alert_attempts_total",
    help: "Deliveries of alert events that were tried, by how they ended.",
    labelNames: ["channel", "outcome"],
    registers: [registry],
  });
  return async (order) => {
    const outcome = await attempt(order);
    attempts.inc({ channel: order.channel, outcome: outcome.kind });
    return outcome;
  };
}

type Count = () => Promise<EventCounts>;

/** Asked of the database when someone asks us; when it does not answer these metrics are absent. */
export function showEvents(count: Count, registry: Registry): void {
  const ask = askTogether(count);
  const show = (name: string, help: string, of: (counts: EventCounts) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.reset();
        const counts = await ask();
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
  show("vedette_alert_dead_letters", "Alert events that nobody accepted.", ({ dead }) => dead);
}

/** Whoever asks for metrics waits for all of them: a database that hangs must not take them along. */
const patienceMs = 2_000;

/** One question for all who ask while it is open; null: no answer, or none in time. */
function askTogether(count: Count): () => Promise<EventCounts | null> {
  let open: Promise<EventCounts | null> | undefined;
  const askOnce = () =>
    inTime(count, { limitMs: patienceMs, otherwise: null }).finally(() => {
      open = undefined;
    });
  return () => {
    open ??= askOnce();
    return open;
  };
}
