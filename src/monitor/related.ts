/** What a check or heartbeat has to do with other rows: whom it notifies, and what it depends on. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { Dependency } from "./dependencies/contract.ts";

export const related = {
  /** The environment whose alert source at the incident service is notified; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Further channels; absent: none. */
  directChannels: z.array(DirectChannel).optional(),
  /** While one of them fails, a failure is suppressed. Absent: none. */
  dependsOn: z.array(Dependency).optional(),
};
type Related = z.infer<z.ZodObject<typeof related>>;

/** Whether anybody is notified. */
export function hasChannels({ channel, directChannels = [] }: Related): boolean {
  return channel !== null || directChannels.length > 0;
}

/** The channels by name: the environment of the incident service, and ids. */
export function channelNames({ channel, directChannels = [] }: Related): string[] {
  return [...(channel === null ? [] : [channel]), ...directChannels.map(({ id }) => id)];
}
