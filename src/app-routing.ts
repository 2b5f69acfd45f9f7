/** What commands about alert routes work with: the rows alone, no server. */
import { type Alert, simulate } from "#alerting/match.ts";
import { type LintReport, lintRoutes } from "#alerting/route-lint.ts";
import { leftOut, mustPage } from "#alerting/route-promises.ts";
import { routes, sources } from "#alerting/routes.ts";
import { type Walk, walkToPage } from "#alerting/walk.ts";
import { defineMonitor } from "#monitor/definitions.ts";
import { readConfig } from "./config.ts";

export function lintAlertRoutes(): LintReport & { routes: number; sources: number } {
  const report = lintRoutes({ sources, routes, mustPage, leftOut });
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
export function walkChecks(configFile: string | undefined): Walk[] {
  const { monitor } = readConfig({ file: configFile, environment: process.env });
  const { apiChecks, heartbeats } = defineMonitor(monitor);
  return [...apiChecks, ...heartbeats].map((check) => walkToPage(check, { sources, routes }));
}
