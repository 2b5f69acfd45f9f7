/** Implements the commands about alert routes that need the rows alone, without a server. */
import { hintOf, pick } from "#kernel/text.ts";
import type { RoutingRows } from "#routing/contract.ts";
import { readIdsFile } from "#routing/incident/ids-file.ts";
import { type LintReport, leftOut, lintRoutes, mustPage } from "./lint.ts";
import { type Alert, type RoutedCheck, simulate, type Walk, walkToPage } from "./match.ts";
import { findRecipients, namesOf, type RoutingTable } from "./recipients.ts";

export { type Backtest, backtest, type PastAlert } from "./backtest.ts";
export { toRoutingTable } from "./recipients.ts";

/** A test whose alert notifies others than it expects, or that names what is not there. */
type FailedTest = {
  /** The name of the row. */
  route: string;
  /** The place of the test in the row, from 0. */
  index: number;
  message: string;
};

type RouteTest = NonNullable<RoutingTable["routes"][number]["tests"]>[number];

/** Returns those that fail; empty: all are as expected. */
export function runRouteTests(table: RoutingTable): FailedTest[] {
  return table.routes.flatMap(({ name: route, tests = [] }) =>
    tests.flatMap((test, index) => {
      const message = findFault(test, table);
      return message === undefined ? [] : [{ route, index, message }];
    }),
  );
}

/** undefined: the test passes. */
function findFault(test: RouteTest, table: RoutingTable): string | undefined {
  const { alert, at, firing, expect } = test;
  try {
    // Each of those that fire has to be there, too: a name that is misspelt holds nothing back.
    for (const other of firing) findRecipients(other, { atMs: 0, firing: [] }, table);
    const found = findRecipients(alert, { atMs: Date.parse(at), firing }, table);
    const names = namesOf(found);
    if (JSON.stringify(names) === JSON.stringify(expect)) return undefined;
    return `expected ${list(expect)}, found ${list(names)} (${found.because})`;
  } catch (error) {
    return (error as Error).message;
  }
}

function list(names: readonly string[]): string {
  return names.length === 0 ? "nobody" : names.join(", ");
}

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
