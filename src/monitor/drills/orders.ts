/** The alert events of a drill: a failure and its recovery for each channel, of a check that there is not. */
import {
  type AlertOrder,
  type AlertTransition,
  directQueueKey,
  formatEventId,
  testMark,
} from "#alerts/contract.ts";
import type { DrillRow } from "./rules.ts";

/** No check has such an id: the events of the drill's own heartbeat have other queues and other alerts. */
const checkIdOf = ({ id }: DrillRow) => `drill:${id}`;

export type KeyedOrder = { queue: string; order: AlertOrder };

/** In the order in which they are to be sent. */
export function ordersOf(
  row: DrillRow,
  { episode, atMs }: { episode: number; atMs: number },
): KeyedOrder[] {
  const { environment, drill } = row;
  const name = `${testMark}${row.name}`;
  const checkId = checkIdOf(row);
  const both = (queue: string, to: Pick<AlertOrder, "channel" | "target">): KeyedOrder[] =>
    (["opened", "resolved"] as const).map((kind) => {
      const transition = transitionOf(row, { queue, kind, episode, atMs });
      return { queue, order: { transition, environment, name, ...to } };
    });
  return [
    ...(drill.channel === null ? [] : both(checkId, { channel: drill.channel })),
    ...(drill.directChannels ?? []).flatMap((target) =>
      both(directQueueKey(checkId, target.id), { channel: null, target }),
    ),
  ];
}

type Event = { queue: string; kind: "opened" | "resolved"; episode: number; atMs: number };

function transitionOf(row: DrillRow, { queue, kind, episode, atMs }: Event): AlertTransition {
  return {
    kind,
    eventId: formatEventId({ queue, episode, joining: 0, kind }),
    checkId: checkIdOf(row),
    episode,
    atMs,
    openedAtMs: atMs,
    reason: `this is the drill ${row.id}: nothing has failed`,
    locations: [],
    missedPings: null,
    rollout: null,
    drill: row.id,
  };
}
