/** The way of an alert from a failing check to the people notified: channel, source, routes. */
import type { Environment } from "#alerts/contract.ts";
import type { RoutingRows } from "./contract.ts";
import { type Simulation, simulate } from "./match.ts";

/** The fields of an API check or a heartbeat that decide who is notified. */
export type RoutedCheck = { id: string; environment: Environment; channel: Environment | null };

export type Walk = {
  check: string;
  environment: Environment;
  /** null: the check has none, and only the console shows its alerts. */
  channel: Environment | null;
  /** The source that the channel posts to; null without a channel. */
  source: string | null;
  /** null without a channel. */
  simulation: Simulation | null;
};

/** A channel posts to the synthetic monitor's source of its environment. */
export function walkToPage(check: RoutedCheck, { sources, routes }: RoutingRows): Walk {
  const { id, environment, channel } = check;
  const ofChannel = sources.find((row) => row.kind === "checkly" && row.environment === channel);
  const source = channel === null ? undefined : ofChannel;
  return {
    check: id,
    environment,
    channel,
    source: source?.name ?? null,
    simulation: source === undefined ? null : simulate({ source: source.name, labels: {} }, routes),
  };
}
