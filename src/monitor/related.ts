/** The relations of a check or heartbeat to other rows: whom it notifies, and what it depends on. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";

/** A check or heartbeat that a check depends on; `kind` says which object has its state. */
export const Dependency = z.object({ id: z.string(), kind: z.enum(["api", "heartbeat"]) });
export type Dependency = z.infer<typeof Dependency>;

export const related = {
  /** The environment whose alert source at the incident service is notified; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Further channels; absent: none. */
  directChannels: z.array(DirectChannel).optional(),
  /** While one of them fails, a failure is suppressed. Absent: none. */
  dependsOn: z.array(Dependency).optional(),
};
type Related = z.infer<z.ZodObject<typeof related>>;

export function hasChannels({ channel, directChannels = [] }: Related): boolean {
  return channel !== null || directChannels.length > 0;
}

/** The channels by name: the environment of the incident service, and ids. */
export function channelNames({ channel, directChannels = [] }: Related): string[] {
  return [...(channel === null ? [] : [channel]), ...directChannels.map(({ id }) => id)];
}

/** The check fails and alerts nobody, because `by`, which it depends on, fails. */
export const Suppression = z.object({
  by: z.string(),
  sinceMs: z.int(),
  /** The reason that the alert would have had. */
  reason: z.string(),
});
export type Suppression = z.infer<typeof Suppression>;

/** A suppression from its beginning to its end; `untilMs`: null: it lasts. */
export type SuppressionSpan = Suppression & { untilMs: number | null };

/** An alert that waits until what the check depends on has been looked at, too. */
export const PendingAlert = z.object({
  sinceMs: z.int(),
  /** The tick of the failed run; of a heartbeat: when it failed. */
  runAtMs: z.int(),
  /** The time at which to ask again. */
  lookAtMs: z.int(),
  reason: z.string(),
  locations: z.array(z.string()),
});
export type PendingAlert = z.infer<typeof PendingAlert>;

/** Fields of a check's state. At most one is set. */
export const suppressionFields = {
  suppressed: Suppression.nullable(),
  pendingAlert: PendingAlert.nullable(),
};
