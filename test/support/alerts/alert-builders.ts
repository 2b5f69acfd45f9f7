/** Alert events as tests need them. */

import { type AlertOrder, directQueueKey, formatEventId } from "#alerts/contract.ts";
import type { LinkTo } from "#alerts/payload.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";

type Event = {
  checkId?: string;
  episode?: number;
  joining?: number;
  kind?: "opened" | "resolved";
  atMs?: number;
  openedAtMs?: number;
  reason?: string;
};

/** The links of a program whose console has no address. */
export const noLinks: LinkTo = { check: () => undefined, rollout: () => undefined };

export const exampleLinks: LinkTo = {
  check: (id) => `https://vedette.example.com/console/checks/${id}`,
  rollout: ({ rolloutId }) => `https://vedette.example.com/console/history/${rolloutId}`,
};

/** 2026-01-01T00:00:00Z */
export const newYearMs = Date.UTC(2026, 0, 1);

export function buildOrder(event: Event = {}) {
  const { checkId = "verify-key", episode = 1, kind = "opened", reason = "status 500" } = event;
  const { joining = 0 } = event;
  const openedAtMs = event.openedAtMs ?? newYearMs;
  return {
    transition: {
      kind,
      eventId: formatEventId({ queue: checkId, episode, joining, kind }),
      checkId,
      episode,
      atMs: event.atMs ?? openedAtMs,
      openedAtMs,
      reason,
      locations: ["local"],
      missedPings: null,
      rollout: null,
    },
    environment: "production" as const,
    channel: "production" as const,
    name: "Verify key",
  } satisfies AlertOrder;
}

/** The same event at a channel that is sent to directly. */
export function buildDirectOrder(target: DirectChannel, event: Event = {}) {
  const { transition, ...order } = buildOrder(event);
  const { checkId, episode, kind } = transition;
  const { joining = 0 } = event;
  const queue = directQueueKey(checkId, target.id);
  const eventId = formatEventId({ queue, episode, joining, kind });
  return { ...order, transition: { ...transition, eventId }, channel: null, target };
}

/** A failure and its recovery. */
export function buildEpisode(event: Omit<Event, "kind"> = {}) {
  return [buildOrder({ ...event, kind: "opened" }), buildOrder({ ...event, kind: "resolved" })];
}

/** The ids of a check's first `count` episodes, in the order in which they are to arrive. */
export function eventIdsOf(count: number, checkId = "verify-key"): string[] {
  return Array.from({ length: count }, (_, i) => [
    `${checkId}:${i + 1}:opened`,
    `${checkId}:${i + 1}:resolved`,
  ]).flat();
}
