/** The fleet as columns, and the difference between two of them. Pure. */
import { isDeepStrictEqual } from "node:util";
import type { FleetChanges, FleetColumns, SentinelMark } from "./contract.ts";

/** A sentinel with its part in the shown rollout; null: it has none, or not yet. */
export type FleetRow = {
  id: string;
  region: string;
  image: string;
  running_image: string;
  deploy_status: string;
  deploy_reason: string | null;
  wave: number | null;
  outcome: string | null;
  outcome_reason: string | null;
};

/** The rollout that the marks refer to. */
export type ShownRollout = {
  rolloutId: string | null;
  image: string | null;
  isActive: boolean;
  /** How many sentinels it has; 0: not known yet. */
  total: number;
};

/** `hasMore`: some of its sentinels are not known as such yet, because their batch has not begun. */
type Shown = Pick<ShownRollout, "image" | "isActive"> & { hasMore: boolean };

const outcomeMarks: Record<string, SentinelMark> = {
  succeeded: "s",
  failed: "f",
  reverted: "r",
  not_reverted: "n",
  left_out: "l",
};

/** The mark of a sentinel. A deploy that is running takes precedence over a recorded outcome. */
function markOf(row: FleetRow, { image, isActive, hasMore }: Shown): SentinelMark {
  if (isActive && row.deploy_status === "progressing") return "p";
  if (row.outcome !== null) return outcomeMarks[row.outcome] ?? "o";
  if (row.wave !== null) return markOfMember(row, image);
  const alreadyRuns = row.image === image && row.running_image === image;
  if (isActive && hasMore && !alreadyRuns) return "w";
  return row.deploy_status === "failed" ? "x" : "o";
}

/** Its deploy may have ended a moment before the outcome is recorded. */
function markOfMember(row: FleetRow, image: string | null): SentinelMark {
  if (row.image !== image) return "w";
  if (row.deploy_status === "failed") return "f";
  if (row.deploy_status === "progressing") return "p";
  return row.running_image === image ? "s" : "w";
}

/** The reason for the mark; null when the mark needs none. */
function reasonOf(row: FleetRow, mark: SentinelMark): string | null {
  if (mark === "f" || mark === "n") return row.outcome_reason ?? row.deploy_reason;
  return mark === "x" ? row.deploy_reason : null;
}

/** `rows` are ordered by region and id. */
export function toColumns(rows: readonly FleetRow[], shown: ShownRollout): FleetColumns {
  const known = rows.filter(({ wave }) => wave !== null).length;
  const hasMore = shown.total === 0 || known < shown.total;
  const marks = rows.map((row) => markOf(row, { ...shown, hasMore }));
  const reasons: Record<string, string> = {};
  for (const [index, row] of rows.entries()) {
    const reason = reasonOf(row, marks[index] ?? "o");
    if (reason !== null) reasons[index] = reason;
  }
  const regions = [...Map.groupBy(rows, (row) => row.region)];
  return {
    rollout_id: shown.rolloutId,
    regions: regions.map(([name, members]) => ({ name, size: members.length })),
    ids: rows.map(({ id }) => id),
    marks: marks.join(""),
    waves: rows.map(({ wave }) => wave ?? 0),
    reasons,
  };
}

/** The changes from `before` to `after`; null when the sentinels differ, so that all columns must be sent. */
export function diffColumns(before: FleetColumns, after: FleetColumns): FleetChanges | null {
  if (!hasSameSentinels(before, after)) return null;
  const changed = [...after.ids.keys()].filter(
    (index) =>
      after.marks[index] !== before.marks[index] || after.waves[index] !== before.waves[index],
  );
  const groups = Map.groupBy(changed, (index) => `${after.marks[index]}${after.waves[index]}`);
  return {
    groups: [...groups.values()].map((indexes) => {
      const [first = 0] = indexes;
      return [after.marks[first] as SentinelMark, after.waves[first] ?? 0, toRuns(indexes)];
    }),
    reasons: diffReasons(before.reasons, after.reasons),
  };
}

/** How many cells change; 0: nothing has changed. */
export function countCells({ groups, reasons }: FleetChanges): number {
  const followers = groups.flatMap(([, , runs]) => runs.filter((_, turn) => turn % 2 === 1));
  return followers.reduce((sum, length) => sum + length, Object.keys(reasons).length);
}

/** Also compares the regions: renaming one may leave the order of the sentinels unchanged. */
function hasSameSentinels(before: FleetColumns, after: FleetColumns): boolean {
  const isSame = (name: string, index: number) => name === before.ids[index];
  if (before.ids.length !== after.ids.length || !after.ids.every(isSame)) return false;
  return isDeepStrictEqual(before.regions, after.regions);
}

/** Encodes rising indexes as run lengths: how many to skip, how many to set, and so on. */
function toRuns(indexes: readonly number[]): number[] {
  const runs: number[] = [];
  let next = 0;
  for (const index of indexes) {
    if (index === next && runs.length > 0) runs.push((runs.pop() ?? 0) + 1);
    else runs.push(index - next, 1);
    next = index + 1;
  }
  return runs;
}

type Reasons = Record<string, string | null>;

function diffReasons(before: FleetColumns["reasons"], after: FleetColumns["reasons"]): Reasons {
  const changed: Reasons = {};
  for (const index of Object.keys(before)) if (!(index in after)) changed[index] = null;
  for (const [index, why] of Object.entries(after)) {
    if (before[index] !== why) changed[index] = why;
  }
  return changed;
}
