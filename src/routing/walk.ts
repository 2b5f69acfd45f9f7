/** From a check to whoever is told when it fails: channel, source, routes, people. */

import type { Environment } from "#alerts/contract.ts";
import type { AlertRoute, AlertSource } from "./contract.ts";
import { type Simulation, simulate } from "./match.ts";

/** What of an API check or a heartbeat decides who is told. */
export type RoutedCheck = { id: string; environment: Environment; channel: Environment | null };

export type Walk = {
  check: string;
  environment: Environment;
  /** null: the check has none, and its alerts are seen on the console alone. */
  channel: Environment | null;
  /** The source that the channel posts to; null without a channel. */
  source: string | null;
  /** null without a channel. */
  simulation: Simulation | null;
};

type Rows = { sources: readonly AlertSource[]; routes: readonly AlertRoute[] };

/** A channel posts to the synthetic monitor's source of its environment. */
export function walkToPage(check: RoutedCheck, { sources, routes }: Rows): Walk {
  const { id, environment, channel } = check;
  const source = sources.find((row) => row.kind === "checkly" && row.environment === channel);
  const told = channel === null ? undefined : source;
  return {
    check: id,
    environment,
    channel,
    source: told?.name ?? null,
    simulation: told === undefined ? null : simulate({ source: told.name, labels: {} }, routes),
  };
}
