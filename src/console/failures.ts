/** Why sentinels failed, grouped, from one picture of them. Pure; used by server and page. */
import type { Failure } from "#rollout/history/contract.ts";
import type { SentinelMark } from "./contract.ts";

type Picture = {
  ids: readonly string[];
  marks: readonly SentinelMark[];
  /** By the sentinel's index. */
  reasons: ReadonlyMap<number, string>;
};

/** How many ids, and how many whole reasons, of each code are named. */
const namedIds = 20;
const namedReasons = 3;

/**
 * Those that failed, also if a rollback has put them back, and those that it could not revert, by the code of their
 * reason.
 */
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
