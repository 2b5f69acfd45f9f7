/** Whom the failure of an open alert was sent to, and what changes when the check gets other channels. */
import { isDeepStrictEqual } from "node:util";
import { directQueueKey, type Environment } from "#alerts/contract.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";
import { hasChannels } from "#monitor/related.ts";

type CheckChannels = Pick<
  ApiCheck | Heartbeat,
  "name" | "environment" | "channel" | "directChannels"
>;

/** Whom the failure of the open alert was sent to, and under which name. */
export type Addressee = CheckChannels & {
  /**
   * By the key of a queue: how often its channel has left in this episode, which tells its later events from
   * the earlier ones. Absent: never.
   */
  joinings?: Readonly<Record<string, number>>;
};

/** A channel: the environment of the incident service, or one that is sent to directly. */
export type Target = Environment | DirectChannel;

export function targetsOf({ channel, directChannels = [] }: CheckChannels): Target[] {
  return [...(channel === null ? [] : [channel]), ...directChannels];
}

/** The environments of the incident service share a queue: events of a check arrive there in order. */
export function queueKeyOf(checkId: string, target: Target): string {
  return typeof target === "string" ? checkId : directQueueKey(checkId, target.id);
}

/** Why to end the open alert although the check did not recover; null: do not end it. */
export function endReasonOf({ channel }: Addressee, check: CheckChannels): string | null {
  return channel !== null && !hasChannels(check) ? "the check pages nobody now" : null;
}

export type ChannelChange = {
  left: Target[];
  joined: Target[];
  /** They are the same channels, with other addresses and the like. */
  corrected: DirectChannel[];
  /** From now on. */
  addressee: Addressee;
};

/** null: the channels are the same. */
export function compareChannels(
  checkId: string,
  before: Addressee,
  check: CheckChannels,
): ChannelChange | null {
  const [old, now] = [targetsOf(before), targetsOf(check)];
  if (isDeepStrictEqual(old, now)) return null;
  const left = old.filter((target) => !hasTarget(now, target));
  const joined = now.filter((target) => !hasTarget(old, target));
  const corrected = (check.directChannels ?? []).filter(
    (row) => hasTarget(old, row) && !old.some((one) => isDeepStrictEqual(one, row)),
  );
  const joinings = countLeaving(before.joinings ?? {}, { checkId, left });
  const { name, environment, channel, directChannels = [] } = check;
  const addressee = { name, environment, channel, directChannels, joinings };
  return { left, joined, corrected, addressee };
}

/** The check as if it had not joined these. */
export function withoutTargets<Check extends CheckChannels>(
  check: Check,
  targets: readonly Target[],
): Check {
  const { channel, directChannels = [] } = check;
  return {
    ...check,
    channel: channel !== null && hasTarget(targets, channel) ? null : channel,
    directChannels: directChannels.filter((row) => !hasTarget(targets, row)),
  };
}

function hasTarget(targets: readonly Target[], wanted: Target): boolean {
  const nameOf = (target: Target) => (typeof target === "string" ? target : `@${target.id}`);
  return targets.some((target) => nameOf(target) === nameOf(wanted));
}

function countLeaving(
  before: Readonly<Record<string, number>>,
  { checkId, left }: { checkId: string; left: readonly Target[] },
): Record<string, number> {
  const joinings = { ...before };
  for (const target of left) {
    const queue = queueKeyOf(checkId, target);
    joinings[queue] = joiningOf(joinings, queue) + 1;
  }
  return joinings;
}

/** How often the channel of this queue was left. A check may be called `constructor`. */
export function joiningOf(joinings: Readonly<Record<string, number>>, queue: string): number {
  return Object.hasOwn(joinings, queue) ? (joinings[queue] ?? 0) : 0;
}
