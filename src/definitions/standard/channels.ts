import type { ChannelRow } from "#definitions/rows/channel.ts";

/** The webhook channels, one per environment, with their numbers at the hosted monitor. */
export const channels: readonly ChannelRow[] = [
  { id: "production", kind: "incident", environment: "production", hostedId: 218874 },
  { id: "staging", kind: "incident", environment: "staging", hostedId: 273211 },
];
