/** Finds the checks that a page shows: the worst first, by name, kind and status. Pure. */
import { type CheckList, type CheckListRequest, type CheckView, checkKinds } from "./contract.ts";

/** The worst first. */
const order = "failed silent late degraded ok pending paused".split(" ");
const { compare } = new Intl.Collator();

export function byUrgency(a: CheckView, b: CheckView): number {
  return order.indexOf(a.status) - order.indexOf(b.status) || compare(a.name, b.name);
}

type Known = Pick<CheckView, "id" | "name" | "kind" | "status">;
type Search = Omit<CheckListRequest, "ids">;
type Counts = NonNullable<CheckList["counts"]>;
type Found = {
  /** The ids of the first of each kind. */
  shown: string[];
  /** How many of each kind are found. */
  found: Counts["found"];
};

const defaultLimit = 50;

/** Keeps the order of `checks`. */
export function searchChecks(checks: readonly Known[], asked: Search): Found {
  const { limit = defaultLimit, kind, status } = asked;
  const words = asked.search?.trim().toLowerCase() ?? "";
  const isFound = (check: Known) =>
    (kind === undefined || check.kind === kind) &&
    (status === undefined || check.status === status) &&
    (check.name.toLowerCase().includes(words) || check.id.includes(words));
  const ofKinds = checkKinds.map((of) => checks.filter((one) => one.kind === of && isFound(one)));
  const [api, heartbeat] = ofKinds.map(({ length }) => length);
  return {
    shown: ofKinds.flatMap((found) => found.slice(0, limit).map(({ id }) => id)),
    found: { api: api ?? 0, heartbeat: heartbeat ?? 0 },
  };
}

/** How many there are of each kind, how many have each status, and how many alerts are open. */
export function countChecks(checks: readonly CheckView[]): Omit<Counts, "found"> {
  const total: Counts["total"] = { api: 0, heartbeat: 0 };
  const statuses: Counts["statuses"] = {};
  let alerts = 0;
  for (const { kind, status, alert } of checks) {
    total[kind] += 1;
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (alert !== null) alerts += 1;
  }
  return { total, statuses, alerts };
}

const letters = { ok: "o", degraded: "d", failed: "f" } as const;

export function toBars(strip: CheckView["strip"]): string {
  return strip.map(({ grade }) => (grade === null ? "-" : letters[grade])).join("");
}
