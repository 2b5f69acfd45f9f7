/** Runs the tests that rows of routes have: who is notified of an alert, at a time, while others fire. Pure. */
import { findRecipients, namesOf, type RoutingTable } from "./recipients.ts";

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
