/** What an alert event says, from the order of its delivery. */

import type { RoutedOrder } from "#alerts/order.ts";
import type { LinkToCheck } from "#alerts/payload.ts";
import type { AlertMessage, RolloutNote } from "./message.ts";

export function toMessage(order: RoutedOrder, linkTo: LinkToCheck): AlertMessage {
  const { transition, environment, name } = order;
  const { kind, eventId, checkId, episode, endedBecause } = transition;
  return {
    kind: kind === "opened" ? "firing" : "resolved",
    eventId,
    checkId,
    name,
    environment,
    episode,
    dedupKey: `${checkId}:${episode}`,
    reason: transition.reason,
    openedAtMs: transition.openedAtMs,
    atMs: transition.atMs,
    locations: transition.locations,
    missedPings: transition.missedPings,
    endedBecause: endedBecause ?? null,
    rollout: toNote(transition),
    url: linkTo(checkId) ?? null,
  };
}

function toNote({ rollout }: RoutedOrder["transition"]): RolloutNote | null {
  if (rollout === null) return null;
  const { rolloutId: id, wave, endedAtMs = null } = rollout;
  return { id, wave, endedAtMs };
}
