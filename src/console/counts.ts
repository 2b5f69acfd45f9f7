/** Every number that a page shows of a rollout, counted from one picture of its sentinels. Pure; used by server and page. */
import type { Failure, RecordedRollout, RolloutDetail } from "#rollout/history/contract.ts";
import type { SentinelMark } from "./contract.ts";

/**
 * A sentinel has a result once that is recorded: it has succeeded or failed, or, after a rollback, is reverted or not
 * reverted. It is in one of the four only, and all but those that failed are done. One that is deployed again, or that a
 * rollback is just reverting, is not done but deploying; one that a pin has held back was never deployed, and is not done
 * either. `Status` and History count those not reverted among the succeeded ones, because they have the new image.
 */
export type Counts = {
  total: number;
  succeeded: number;
  failed: number;
  reverted: number;
  not_reverted: number;
  /** The sentinels that have a result and have not failed, also not before they were reverted. */
  done: number;
  failed_before: number;
  deploying: number;
  /** Members of a wave that a pin has held back. */
  held_back: number;
  /** All others. */
  waiting: number;
};

export type RolloutCounts = Counts & {
  /** All that are left out: held back, or in no wave at all. */
  left_out: number;
  waves: Counts[];
};

/** A picture of the fleet; both have an entry per sentinel. */
export type Marks = {
  marks: Iterable<string>;
  waves: readonly number[];
  /** The reasons by index; absent: nobody asks which of those reverted had failed. */
  reasons?: ReadonlyMap<number, string>;
};

/** `first`: the index of the first of these cells. */
type Cells = {
  marks: readonly SentinelMark[];
  waves: readonly number[];
  first: number;
  reasons: ReadonlyMap<number, string>;
};

type Tally = Partial<Record<string, number>>;

/** `of`: how many sentinels the rollout has, and its waves. */
export function countsOf(
  { marks, waves, reasons }: Marks,
  of: { total: number; waves: readonly { size: number }[] },
): RolloutCounts {
  const tallies = of.waves.map((): Tally => ({}));
  const all: Tally = {};
  const leftOut = { count: 0 };
  let index = 0;
  for (const shown of marks) {
    const mark = tallied(shown, reasons?.has(index) === true);
    const wave = waves[index++] ?? 0;
    if (mark === "l") leftOut.count += 1;
    // A sentinel in no wave was left out from the start, so it is no part of the total.
    if (mark === "l" && wave === 0) continue;
    all[mark] = (all[mark] ?? 0) + 1;
    const tally = tallies[wave - 1];
    if (tally !== undefined) tally[mark] = (tally[mark] ?? 0) + 1;
  }
  return {
    ...toCounts(all, of.total),
    left_out: leftOut.count,
    waves: tallies.map((tally, i) => toCounts(tally, of.waves[i]?.size ?? 0)),
  };
}

/** The mark of sentinels that were reverted and had failed before; only the counting has it. */
const failedBefore = "rf";

function tallied(mark: string, hasReason: boolean): string {
  return mark === "r" && hasReason ? failedBefore : mark;
}

function toCounts(tally: Tally, total: number): Counts {
  const { s = 0, f = 0, r = 0, n = 0, p = 0, l = 0, [failedBefore]: rf = 0 } = tally;
  return {
    total,
    succeeded: s,
    failed: f,
    reverted: r + rf,
    not_reverted: n,
    done: s + r + n,
    failed_before: rf,
    deploying: p,
    held_back: l,
    waiting: Math.max(0, total - (s + f + r + rf + n) - p - l),
  };
}

/** The same of a row of History, where those not reverted are among the succeeded ones. */
export function doneIn(row: {
  succeeded: number;
  reverted: number;
  failed_before: number;
}): number {
  return Math.max(0, row.succeeded + row.reverted - row.failed_before);
}

type RegionCounts = { members: number } & Pick<Counts, "done" | "failed" | "not_reverted">;

/** Counts one region; `members`: those of its sentinels that the rollout has. */
export function regionCounts({ marks, waves, first, reasons }: Cells): RegionCounts {
  const count = (wanted: string) => marks.filter((mark) => wanted.includes(mark)).length;
  const before = marks.filter((mark, i) => mark === "r" && reasons.has(first + i)).length;
  const outside = marks.filter((mark, i) => mark === "l" && waves[i] === 0).length;
  return {
    members: count("wpsfrnl") - outside,
    done: count("srn") - before,
    failed: count("f") + before,
    not_reverted: count("n"),
  };
}

export function detailOf(
  recorded: RecordedRollout,
  fleet: Picture & { waves: readonly number[] },
): RolloutDetail {
  const { status, waves } = recorded;
  const counts = countsOf(fleet, { total: status.total, waves });
  return {
    ...recorded,
    status: {
      ...status,
      succeeded: counts.succeeded + counts.not_reverted,
      failed: counts.failed,
      in_flight: counts.deploying,
    },
    reverted: counts.reverted,
    waves: waves.map((wave, i) => ({ ...wave, ...resultsOf(counts.waves[i]) })),
    failures: failuresOf(fleet),
  };
}

function resultsOf(counts: Counts | undefined) {
  const { succeeded = 0, failed = 0, reverted = 0, not_reverted = 0 } = counts ?? {};
  return { succeeded, failed, reverted, not_reverted };
}

type Picture = {
  ids: readonly string[];
  marks: readonly SentinelMark[];
  /** The reasons by the sentinel's index. */
  reasons: ReadonlyMap<number, string>;
};

/** The number of ids, and of whole reasons, that are named of each code. */
const namedIds = 20;
const namedReasons = 3;

/** The failed sentinels, also those put back, and those that it could not revert, by the code of their reason. */
export function failuresOf({ ids, marks, reasons }: Picture): Failure[] {
  const isHit = (mark: SentinelMark | undefined, index: number) =>
    mark === "f" || mark === "n" || (mark === "r" && reasons.has(index));
  const hit = [...marks.keys()].filter((index) => isHit(marks[index], index));
  const reasonOf = (index: number) => reasons.get(index) ?? "unknown";
  const groups = [...Map.groupBy(hit, (index) => codeOf(reasonOf(index)))];
  return groups
    .map(([code, indexes]): Failure => {
      const texts = [...Map.groupBy(indexes, reasonOf)].map(([reason, { length }]) => ({
        reason,
        count: length,
      }));
      return {
        code,
        count: indexes.length,
        ids: indexes
          .map((index) => ids[index] ?? "")
          .sort()
          .slice(0, namedIds),
        reasons: texts.sort(byCount(({ reason }) => reason)).slice(0, namedReasons),
        of: texts.length,
      };
    })
    .sort(byCount(({ code }) => code));
}

function codeOf(reason: string): string {
  return reason.split(":")[0] ?? reason;
}

/** The most frequent first. */
function byCount<Item extends { count: number }>(nameOf: (item: Item) => string) {
  return (a: Item, b: Item) => b.count - a.count || (nameOf(a) < nameOf(b) ? -1 : 1);
}

type OutcomeMark = Extract<SentinelMark, "s" | "f" | "r" | "n" | "l">;

/** The mark of each outcome that history records; for server and page. */
export const outcomeMarks: Readonly<Record<string, OutcomeMark>> = {
  succeeded: "s",
  failed: "f",
  reverted: "r",
  not_reverted: "n",
  left_out: "l",
};
