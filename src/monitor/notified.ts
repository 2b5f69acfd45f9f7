/** Whom a check notifies. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";

/** The fields of a check or heartbeat. */
export const notified = {
  /** The environment whose alert source at the incident service is notified; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Further channels; absent: none, or the row was stored by an earlier version. */
  directChannels: z.array(DirectChannel).optional(),
};
const Notified = z.object(notified);
type Notified = z.infer<typeof Notified>;

/** Whether anybody is notified. */
export function hasChannels({ channel, directChannels = [] }: Notified): boolean {
  return channel !== null || directChannels.length > 0;
}

/** The channels by name: the environment of the incident service, and ids. */
export function channelNames({ channel, directChannels = [] }: Notified): string[] {
  return [...(channel === null ? [] : [channel]), ...directChannels.map(({ id }) => id)];
}
