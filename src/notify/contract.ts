import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";

/** A message for people in a chat channel, independent of any chat service's format. */
export const ChatMessage = z.object({
  /** The same for every delivery of this message, so that a reader can recognize a repeated one. */
  id: z.string(),
  title: z.string(),
  tone: z.enum(["info", "success", "warning", "danger"]),
  /** One paragraph each, plain text. */
  lines: z.array(z.string()),
  fields: z.array(z.object({ name: z.string(), value: z.string() })),
});
export type ChatMessage = z.infer<typeof ChatMessage>;

/** The channels that messages can go to; each has a webhook URL in the settings. */
export const chatChannels = ["sentinel_rollout", "quota_check", "alert_routes"] as const;
export type ChatChannelName = (typeof chatChannels)[number];

/** The channel of a fleet's rollouts, with a queue of its own; undefined: the default fleet. */
export function rolloutChannel(fleet: string | undefined): string {
  return fleet === undefined ? rolloutChannelName : `${rolloutChannelName}:${fleet}`;
}

/** The fleet whose channel this is; undefined: it is no channel of a named fleet. */
export function fleetOfChannel(channel: string): string | undefined {
  const [name, fleet] = channel.split(":");
  return name === rolloutChannelName ? fleet : undefined;
}

const rolloutChannelName: ChatChannelName = "sentinel_rollout";

/** One object per channel, keyed by its name: delivers messages in the order in which they were sent to it. */
export const chatChannel = iface.object("vedette.v1.ChatChannel", {
  /** Delivers one message, at least once. Send to it one way: it waits, paces and retries. */
  Post: iface.schemas({ input: ChatMessage, output: z.null() }),
});
