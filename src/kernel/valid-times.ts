/** Keeps invalid `Date`s from the database: pg would send them as text that no type accepts. */
import type { ClientBase } from "pg";

type Query = (...args: unknown[]) => unknown;

/** A query with such a time fails with a RangeError, and the connection remains usable. */
export function refuseInvalidTimes(client: ClientBase): void {
  const send = client.query.bind(client) as Query;
  const query: Query = (...args) => {
    if (!valuesOf(args).some(isInvalidTime)) return send(...args);
    const error = new RangeError("an invalid time is not sent to the database");
    const callback = args.findLast((arg) => typeof arg === "function");
    if (callback === undefined) return Promise.reject(error);
    queueMicrotask(() => callback(error));
    return undefined;
  };
  Object.assign(client, { query });
}

/** The values are an argument of their own, or part of a query object. */
function valuesOf([query, values]: unknown[]): unknown[] {
  if (Array.isArray(values)) return values;
  const { values: within } = (query ?? {}) as { values?: unknown };
  return Array.isArray(within) ? within : [];
}

function isInvalidTime(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(isInvalidTime);
  return value instanceof Date && Number.isNaN(value.getTime());
}
