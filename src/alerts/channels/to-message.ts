/** Makes the message of an alert event from its delivery order. */
import { parseEventId, testMark } from "#alerts/contract.ts";
import type { NoticeOrder, Order, RoutedOrder } from "#alerts/order.ts";
import { type LinkTo, noteOf } from "#alerts/payload.ts";
import type { AlertMessage, ChannelMessage, NoticeMessage } from "./message.ts";

export function toMessage(order: Order, linkTo: LinkTo): ChannelMessage {
  return "notice" in order ? toNoticeMessage(order, linkTo) : toAlertMessage(order, linkTo);
}

function toNoticeMessage(order: NoticeOrder, linkTo: LinkTo): NoticeMessage {
  const { eventId, atMs, notice } = order;
  const { id, fleet } = notice.rollout ?? {};
  const url = id && fleet ? linkTo.rollout({ rolloutId: id, fleet }) : undefined;
  return { kind: "notice", eventId, atMs, notice, url: url ?? null };
}

function toAlertMessage(order: RoutedOrder, linkTo: LinkTo): AlertMessage {
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
    rollout: noteOf(transition, linkTo),
    changes: transition.changes,
    url: linkTo.check(drill ?? checkId) ?? null,
  };
}
