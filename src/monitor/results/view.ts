/** The current list of checks, cached for a short time, and the few that a page shows, as they stand now. */
import type { Database } from "#kernel/database.ts";
import type { Definitions, ReadDefinitions } from "#monitor/contract.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import { type CheckList, type CheckListRequest, type CheckView, checkKinds } from "./contract.ts";
import { hasStrips, listChecks, type WhyNobody } from "./list.ts";
import { readSnapshots } from "./snapshots.ts";
import { readAlertTime, readDays } from "./uptime.ts";

export type ViewChecks = () => Promise<CheckList>;
export type FindChecks = (asked: CheckListRequest) => Promise<CheckList>;

type Parts = {
  database: Database;
  readDefinitions: ReadDefinitions;
  whyOff: WhyOff;
  whyNobody?: WhyNobody;
  failedAtPercent: number;
  nowMs: () => number;
};

export function createViewChecks(parts: Parts): ViewChecks {
  return cacheBriefly(parts, (nowMs) => readChecks(parts, { nowMs }));
}

/** Which checks to show, and how many there are, may be two seconds old; how those stand is read each time. */
export function createFindChecks(parts: Parts): FindChecks {
  const readStanding = cacheBriefly(parts, (nowMs) => readSorted(parts, nowMs));
  return async ({ ids = [], ...search }) => {
    const { nowMs } = parts;
    if (Object.keys(search).length === 0) return readChecks(parts, { nowMs: nowMs(), ids });
    const all = await readStanding();
    const { shown, found } = searchChecks(all, search);
    const wanted = [...new Set([...shown, ...ids])];
    const { checks, ...list } = await readChecks(parts, { nowMs: nowMs(), ids: wanted });
    const views = new Map(checks.map((check) => [check.id, toRow(check)]));
    return {
      ...list,
      checks: wanted.flatMap((id) => views.get(id) ?? []),
      counts: { ...countChecks(all), found },
    };
  };
}

/** A list shows the grades of a strip alone, an eightieth of it, and no locations: less changes with each run. */
function toRow(check: CheckView): CheckView {
  return { ...check, locations: [], strip: [], bars: toBars(check.strip) };
}

/** A read is cached so long, and shared: callers need no authentication, and it is four queries. */
const freshMs = 2_000;

function cacheBriefly<Answer>(
  { nowMs }: Pick<Parts, "nowMs">,
  read: (nowMs: number) => Promise<Answer>,
): () => Promise<Answer> {
  let last: { atMs: number; answer: Promise<Answer>; isOver: boolean } | undefined;
  return () => {
    const atMs = nowMs();
    if (last !== undefined && (!last.isOver || isFresh(last.atMs, atMs))) return last.answer;
    const answer = read(atMs);
    const current = { atMs, answer, isOver: false };
    last = current;
    answer.then(
      () => {
        current.isOver = true;
        // The age counts from the end of the read: a slow list would else be stale when it arrives.
        current.atMs = nowMs();
      },
      // A failure is not cached: only the callers that wait for this read get it.
      () => {
        last = undefined;
      },
    );
    return answer;
  };
}

/** A time in the future is of a read before the clock was set back. */
function isFresh(readAtMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - readAtMs) < freshMs;
}

/** `ids`: these alone. */
async function readChecks(
  parts: Parts,
  { nowMs, ids }: { nowMs: number; ids?: readonly string[] },
): Promise<CheckList> {
  const { database, readDefinitions, failedAtPercent } = parts;
  const all = await readDefinitions();
  const definitions = ids === undefined ? all : pick(all, new Set(ids));
  const [snapshots, days, alertTime] = await Promise.all([
    readSnapshots(database, definitions, ids),
    readDays(database, { nowMs, failedAtPercent, hasStrips: hasStrips(definitions), ids }),
    readAlertTime(database, nowMs),
  ]);
  return listChecks({ ...parts, definitions, all, snapshots, days, alertTime, nowMs });
}

type Listed = Pick<Definitions, "apiChecks" | "heartbeats">;

function pick({ apiChecks, heartbeats }: Listed, ids: ReadonlySet<string>): Listed {
  return {
    apiChecks: apiChecks.filter(({ id }) => ids.has(id)),
    heartbeats: heartbeats.filter(({ id }) => ids.has(id)),
  };
}

/** All checks, the worst first; without their last 24 hours, which say nothing of how they stand. */
async function readSorted(parts: Parts, nowMs: number): Promise<CheckView[]> {
  const definitions = await parts.readDefinitions();
  const snapshots = await readSnapshots(parts.database, definitions);
  const none = { days: new Map(), alertTime: new Map() };
  return listChecks({ ...parts, ...none, definitions, snapshots, nowMs }).checks.sort(byUrgency);
}

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
  /** The number found of each kind. */
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

/** The numbers of each kind and of each status, and of open alerts. */
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
