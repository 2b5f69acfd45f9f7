/** Vedette's own rows, those of `extends: ["standard"]` and of a program without a file of definitions. */
import type { ChannelRow } from "#definitions/rows/channel.ts";
import { CheckRow } from "#definitions/rows/check.ts";
import { type DefinitionSet, emptySet } from "#definitions/rows/contract.ts";
import { checksOf } from "./checks.ts";
import { heartbeats } from "./heartbeats.ts";
import { routes, sources } from "./routes.ts";

/** The settings that the rows depend on. */
export type StandardSettings = { monitor: { rate_limit_locations: readonly string[] } };

export function standardSet({ monitor }: StandardSettings): DefinitionSet {
  const checks = checksOf(monitor.rate_limit_locations).map((row) => CheckRow.parse(row));
  return { ...emptySet, channels, checks, heartbeats, sources, routes };
}

/** The webhook channels, one per environment, with their numbers at the hosted monitor. */
const channels: readonly ChannelRow[] = [
  { id: "production", kind: "incident", environment: "production", hostedId: 218874 },
  { id: "staging", kind: "incident", environment: "staging", hostedId: 273211 },
];
