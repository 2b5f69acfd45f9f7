/** Makes the moments of a rollout's past from what history has of its sentinels. Pure. */
import type { PastMark, RolloutPast } from "#console/contract.ts";
import { outcomeMarks } from "#console/counts.ts";
import type { MemberHistory } from "#rollout/history/contract.ts";

type Span = { fromMs: number; toMs: number };

const maxMoments = 1_000;
const minStepMs = 100;

/** The limit of all sentinels together: bounds the answer, however often a rollout was resumed. */
const maxChanges = 40_000;

/** The lowest limit of one sentinel, in the largest fleet: its deploy, and the end of it. */
const fewestChanges = 2;

type Change = { atMs: number; mark: PastMark };

/** `ids`: the sentinels in the order of the grid; those without a history have not been part of it. */
export function encodePast(
  ids: readonly string[],
  histories: readonly MemberHistory[],
  span: Span,
): RolloutPast {
  const known = new Map(histories.map((history) => [history.id, history]));
  const members = ids.map((id) => known.get(id));
  const most = Math.max(fewestChanges, Math.floor(maxChanges / Math.max(1, ids.length)));
  const all = members.map((member) => changesOf(member));
  const changes = all.map((one) => one.slice(-most));
  const lastMs = changes.reduce((ms, one) => Math.max(ms, one.at(-1)?.atMs ?? 0), span.toMs);
  const step = Math.max(minStepMs, Math.ceil((lastMs - span.fromMs) / maxMoments));
  const isLost = (index: number) => (all[index]?.length ?? 0) > (changes[index]?.length ?? 0);
  return {
    from: new Date(span.fromMs).toISOString(),
    step_ms: step,
    last: Math.max(0, Math.ceil((lastMs - span.fromMs) / step)),
    initial: toRuns(members.map((member) => (member?.wave === null ? "l" : "w"))),
    changes: toEntries(changes, (ms) => Math.max(0, Math.ceil((ms - span.fromMs) / step))),
    lost: ids.filter((_, index) => isLost(index)).length,
  };
}

function changesOf(member: MemberHistory | undefined): Change[] {
  return (member?.moments ?? []).flatMap(({ outcome, atMs, orderedMs }) => {
    const mark = outcome === null ? "w" : (outcomeMarks[outcome] ?? "w");
    const ordered = orderedMs === null ? [] : [{ atMs: orderedMs, mark: "p" as const }];
    return [...ordered, { atMs, mark }];
  });
}

function toRuns(marks: readonly PastMark[]): RolloutPast["initial"] {
  const runs: RolloutPast["initial"] = [];
  for (const mark of marks) {
    const last = runs.at(-1);
    if (last?.[0] === mark) last[1] += 1;
    else runs.push([mark, 1]);
  }
  return runs;
}

/** Several changes of one sentinel within one moment are its last one. */
function toEntries(
  changes: readonly (readonly Change[])[],
  momentOf: (ms: number) => number,
): RolloutPast["changes"] {
  const byMoment = new Map<number, Map<PastMark, number[]>>();
  for (const [index, ofOne] of changes.entries()) {
    for (const [moment, mark] of new Map(ofOne.map(({ atMs, mark }) => [momentOf(atMs), mark]))) {
      const byMark = byMoment.get(moment) ?? new Map<PastMark, number[]>();
      byMoment.set(moment, byMark);
      const indexes = byMark.get(mark);
      if (indexes === undefined) byMark.set(mark, [index]);
      else indexes.push(index);
    }
  }
  let before = 0;
  return [...byMoment.keys()]
    .sort((a, b) => a - b)
    .flatMap((moment) =>
      [...(byMoment.get(moment) ?? [])].map(([mark, indexes]) => {
        const after = moment - before;
        before = moment;
        return [after, mark, distances(indexes)] as RolloutPast["changes"][number];
      }),
    );
}

function distances(indexes: readonly number[]): number[] {
  return indexes.map((index, i) => index - (indexes[i - 1] ?? -1));
}
