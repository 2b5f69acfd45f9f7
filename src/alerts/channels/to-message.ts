/** What an alert event says, from the order of its delivery. */

import { parseEventId, testMark } from "#alerts/contract.ts";
import type { RoutedOrder } from "#alerts/order.ts";
import type { LinkToCheck } from "#alerts/payload.ts";
import type { AlertMessage, RolloutNote } from "./message.ts";

export function toMessage(order: RoutedOrder, linkTo: LinkToCheck): AlertMessage {
  const { transition, environment, name } = order;
  const { kind, eventId, checkId, episode, endedBecause, drill } = transition;
  return {
    kind: kind === "opened" ? "firing" : "resolved",
    ...(drill !== undefined && { isTest: true }),
    eventId,
    checkId,
    // The headline of a test begins with the mark already.
    name: drill !== undefined && name.startsWith(testMark) ? name.slice(testMark.length) : name,
    environment,
    episode,
    joining: parseEventId(eventId)?.joining ?? 0,
    dedupKey: `${checkId}:${episode}`,
    reason: transition.reason,
    openedAtMs: transition.openedAtMs,
    atMs: transition.atMs,
    locations: transition.locations,
    missedPings: transition.missedPings,
    endedBecause: endedBecause ?? null,
    rollout: toNote(transition),
    url: linkTo(drill ?? checkId) ?? null,
  };
}

function toNote({ rollout }: RoutedOrder["transition"]): RolloutNote | null {
  if (rollout === null) return null;
  const { rolloutId: id, wave, endedAtMs = null } = rollout;
  return { id, wave, endedAtMs };
}
