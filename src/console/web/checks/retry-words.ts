/** Says what sending an alert event again does, before somebody does it. */
import type { AlertEventView } from "#alerts/contract.ts";

type Event = Pick<AlertEventView, "event_id" | "environment" | "channel" | "kind">;

/** The id of an event has an `@` only if it is sent to a channel directly. */
export function retryWords({ event_id, environment, channel, kind }: Event): string[] {
  const isDirect = event_id.includes("@");
  const receiver = isDirect ? `the channel ${channel}` : `the incident service (${environment})`;
  const notified = isDirect
    ? "Those who read the channel are notified."
    : "The people on the alert's route are paged.";
  return [
    `It is sent to ${receiver} now, and retried until it is accepted.`,
    kind === "resolved" ? "This resolves the alert there." : notified,
  ];
}
