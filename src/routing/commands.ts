/** What commands about alert routes work with: the rows alone, no server. */

import { readIdsFile } from "#routing/incident/ids-file.ts";
import { type LintReport, lintRoutes } from "#routing/lint.ts";
import { type Alert, simulate } from "#routing/match.ts";
import { leftOut, mustPage } from "#routing/promises.ts";
import { routes, sources } from "#routing/routes.ts";
import { type RoutedCheck, type Walk, walkToPage } from "#routing/walk.ts";

/** Asks nobody. With `incident.ids_file` set it also finds channels that have no id there. */
export function lintAlertRoutes(incident: {
  ids_file: string;
}): LintReport & { routes: number; sources: number } {
  const table = { sources, routes, mustPage, leftOut };
  const report = lintRoutes(
    incident.ids_file === ""
      ? table
      : // The service tells the ids of escalation paths: they may be missing here.
        { ...table, known: { channels: Object.keys(readIdsFile(incident.ids_file).channels) } },
  );
  return { routes: routes.length, sources: sources.length, ...report };
}

/** Throws when there is no such source. `unasked` are labels that no route asks of it. */
export function simulateAlert(alert: Alert) {
  const source = sources.find(({ name }) => name === alert.source);
  if (source === undefined) {
    const names = sources.map(({ name }) => name).join(", ");
    throw new Error(`there is no source ${alert.source}; sources are ${names}`);
  }
  const unasked = Object.keys(alert.labels).filter((name) => !Object.hasOwn(source.labels, name));
  return { simulation: simulate(alert, routes), unasked };
}

/** Every API check and heartbeat with whoever is told when it fails. */
export function walkAll(watched: readonly RoutedCheck[]): Walk[] {
  return watched.map((check) => walkToPage(check, { sources, routes }));
}
