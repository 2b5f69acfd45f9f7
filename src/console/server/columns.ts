/** The fleet as columns: what became of each sentinel in the shown rollout, as one letter. Pure. */
import type { FleetColumns, SentinelMark } from "#console/contract.ts";
import { outcomeMarks } from "#console/counts.ts";
import { toRuns } from "#console/events.ts";
import { alreadyRuns, compareImages } from "#kernel/image-reference.ts";
import type { RolloutStateName } from "#rollout/contract.ts";
import type { Member } from "#rollout/history/contract.ts";

/** A sentinel with its part in the shown rollout; null: it has none, or not yet. */
export type FleetRow = {
  id: string;
  region: string;
  image: string;
  running_image: string;
  deploy_status: string;
  deploy_reason: string | null;
  /** True if its last order was given since the rollout started. */
  is_ordered: boolean;
  wave: number | null;
  outcome: string | null;
  outcome_reason: string | null;
  failure: string | null;
};

export type ShownRollout = {
  image: string | null;
  state: RolloutStateName;
  /** The number of its sentinels; 0: not known yet. */
  total: number;
};

/** `hasMore`: history was not told of some of its sentinels. */
type Shown = ShownRollout & { hasMore: boolean };

const activeStates: readonly RolloutStateName[] = ["in_progress", "paused", "rolling_back"];

/** The limit of reasons that are sent whole: of more only the codes are; the details of a sentinel have all of it. */
const mostReasons = 1_000;
const longestReason = 200;

/** The mark of a sentinel. Only a recorded outcome is a result, as in history's counts. */
function markOf(row: FleetRow, shown: Shown): SentinelMark {
  if (row.outcome !== null)
    return isReverting(row, shown) ? "p" : (outcomeMarks[row.outcome] ?? "o");
  if (row.wave !== null) return isDeploying(row, shown) ? "p" : "w";
  const { image, state, hasMore } = shown;
  const isPart = image === null || !alreadyRuns(row, image);
  if (activeStates.includes(state) && hasMore && isPart) return "w";
  return row.deploy_status === "failed" ? "x" : "o";
}

/** Its deploy may have ended a moment before its outcome is recorded. */
function isDeploying(row: FleetRow, { image, state }: Shown): boolean {
  if (row.deploy_status === "progressing") return state === "rolling_back" || isOf(row, image);
  return state === "in_progress" && row.is_ordered && isOf(row, image);
}

/** True if the sentinel was ordered to run the image. */
function isOf(row: FleetRow, image: string | null): boolean {
  return image !== null && compareImages(row.image, image) !== "other";
}

/** True if a rollback is giving the sentinel its previous image. */
function isReverting(row: FleetRow, { image, state }: Shown): boolean {
  if (state !== "rolling_back" || isOf(row, image)) return false;
  return row.outcome === "succeeded" || row.deploy_status === "progressing";
}

/** The reason for the mark; null when the mark needs none. */
function reasonOf(row: FleetRow, mark: SentinelMark): string | null {
  if (mark === "f" || mark === "n") return row.outcome_reason ?? row.deploy_reason;
  // One that a rollback has put back keeps why it had failed.
  if (mark === "r") return row.failure;
  return mark === "x" ? row.deploy_reason : null;
}

/** `rows` are ordered by region and id. */
export function toColumns(rows: readonly FleetRow[], shown: ShownRollout): FleetColumns {
  const known = rows.filter(({ wave }) => wave !== null).length;
  const hasMore = known < shown.total;
  const marks = rows.map((row) => markOf(row, { ...shown, hasMore }));
  const regions = [...Map.groupBy(rows, (row) => row.region)];
  return {
    regions: regions.map(([name, members]) => ({ name, size: members.length })),
    ids: rows.map(({ id }) => id),
    marks: marks.join(""),
    waves: rows.map(({ wave }) => wave ?? 0),
    reasons: groupReasons(rows.map((row, index) => reasonOf(row, marks[index] ?? "o"))),
  };
}

function groupReasons(reasons: readonly (string | null)[]): FleetColumns["reasons"] {
  const found = [...reasons.keys()].filter((index) => reasons[index] !== null);
  const textOf = (index: number) => {
    const reason = reasons[index] ?? "";
    return found.length > mostReasons ? codeOf(reason) : shorten(reason);
  };
  return [...Map.groupBy(found, textOf)].map(([text, indexes]) => [text, toRuns(indexes)]);
}

function codeOf(reason: string): string {
  return shorten(reason.split(":")[0] ?? reason);
}

function shorten(reason: string): string {
  return reason.length > longestReason ? `${reason.slice(0, longestReason)}…` : reason;
}

export type Part = Pick<FleetRow, "wave" | "outcome" | "outcome_reason" | "failure">;

/** A sentinel as the fleet has it now. */
export type MapRow = Omit<FleetRow, keyof Part>;

/** Ordered by region and id. Members that have left are in the region "gone": otherwise the numbers don't add up. */
export function joinLive(fleet: readonly MapRow[], members: readonly Member[]): FleetRow[] {
  const parts = new Map(members.map((member) => [member.id, member]));
  const present = fleet.map((row) => ({ ...row, ...partOf(parts.get(row.id)) }));
  for (const { id } of fleet) parts.delete(id);
  return ordered([...present, ...parts.values().map((member) => toPast(member))]);
}

export function joinPast(fleet: readonly MapRow[], members: readonly Member[]): FleetRow[] {
  const regions = new Map(fleet.map(({ id, region }) => [id, region]));
  return ordered(members.map((member) => toPast(member, regions.get(member.id))));
}

export function partOf(member: Member | undefined): Part {
  const { wave = null, outcome = null, outcome_reason = null, failure = null } = member ?? {};
  return { wave, outcome, outcome_reason, failure };
}

function toPast(member: Member, region = "gone"): FleetRow {
  const now = { image: "", running_image: "", deploy_status: "ready", deploy_reason: null };
  return { id: member.id, region, ...now, is_ordered: false, ...partOf(member) };
}

/** The database has its own order of letters; where it is the same, sorting a large fleet again is left out. */
function ordered(rows: FleetRow[]): FleetRow[] {
  const isOrdered = rows.every((row, i) => {
    const { [i - 1]: before } = rows;
    return before === undefined || byRegionAndId(before, row) <= 0;
  });
  return isOrdered ? rows : rows.sort(byRegionAndId);
}

function byRegionAndId(a: FleetRow, b: FleetRow): number {
  return compare(a.region, b.region) || compare(a.id, b.id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
