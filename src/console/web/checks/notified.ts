/** Whom a check notifies. */
import type { CheckView } from "#monitor/results/contract.ts";

/** Names of channels. A server of an earlier version tells of one at most. */
export function notified({ channels, channel }: Pick<CheckView, "channels" | "channel">): string[] {
  return channels ?? (channel === null ? [] : [channel]);
}
