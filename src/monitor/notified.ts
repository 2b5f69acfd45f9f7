/** Whom a check notifies. */
import type { ApiCheck, Heartbeat } from "#monitor/contract.ts";

type Notified = Pick<ApiCheck | Heartbeat, "channel" | "directChannels">;

/** Whether anybody is notified. */
export function hasChannels({ channel, directChannels = [] }: Notified): boolean {
  return channel !== null || directChannels.length > 0;
}

/** The channels by name: the environment of the incident service, and ids. */
export function channelNames({ channel, directChannels = [] }: Notified): string[] {
  return [...(channel === null ? [] : [channel]), ...directChannels.map(({ id }) => id)];
}
