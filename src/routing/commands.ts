/** Implements the commands about alert routes that need the rows alone, without a server. */
import { hintOf, pick } from "#kernel/text.ts";
import type { RoutingRows } from "#routing/contract.ts";
import { readIdsFile } from "#routing/incident/ids-file.ts";
import { type LintReport, leftOut, lintRoutes, mustPage } from "./lint.ts";
import { type Alert, type RoutedCheck, simulate, type Walk, walkToPage } from "./match.ts";

export { type Backtest, backtest, type PastAlert } from "./backtest.ts";
export { toRoutingTable } from "./recipients.ts";
export { runRouteTests } from "./route-tests.ts";

/** Calls no service. With `incident.ids_file` set it also finds channels that have no id there. */
export function lintAlertRoutes(
  rows: RoutingRows,
  incident: { ids_file: string },
): LintReport & { routes: number; sources: number } {
  const { sources, routes } = rows;
  const table = { sources, routes, ...requirementsOf(rows) };
  const report = lintRoutes(
    incident.ids_file === ""
      ? table
      : // The file may lack ids of escalation paths, because the service can be queried for those.
        { ...table, known: { channels: Object.keys(readIdsFile(incident.ids_file).channels) } },
  );
  return { routes: routes.length, sources: sources.length, ...report };
}

/** The requirements of sources that there are: definitions of one's own may lack the standard ones. */
function requirementsOf({ sources }: RoutingRows) {
  const isThere = ({ source }: { source: string }) => sources.some(({ name }) => name === source);
  return { mustPage: mustPage.filter(isThere), leftOut: leftOut.filter(isThere) };
}

/** Throws when there is no such source. `hints` name labels that the source's row does not have, and those that were meant. */
export function simulateAlert({ sources, routes }: RoutingRows, alert: Alert) {
  const source = pick("source", alert.source, sources);
  const known = Object.keys(source.labels);
  const unasked = Object.keys(alert.labels).filter((name) => !known.includes(name));
  const hints = unasked.map((name) => `${name} of ${alert.source}${hintOf(name, known)}`);
  return { simulation: simulate(alert, routes), hints };
}

/** Finds for every API check and heartbeat who is notified when it fails. */
export function walkAll(rows: RoutingRows, watched: readonly RoutedCheck[]): Walk[] {
  return watched.map((check) => walkToPage(check, rows));
}
