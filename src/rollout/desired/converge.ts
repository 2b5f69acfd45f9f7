/** Decides which drifted sentinels the reconciler brings back now, and by what rollout. Pure. */
import type { RolloutRequest, RolloutStateName } from "#rollout/contract.ts";
import type { GateRow, NamedGate } from "#rollout/gates/contract.ts";
import { gatesOf } from "#rollout/gates/registry.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import { isUnderWay } from "#rollout/rules/transitions.ts";
import type { Drift } from "./drift.ts";

/** The number of times a sentinel was ordered to run an image, and when last, Unix milliseconds. */
type Tries = [count: number, atMs: number];

/** By image, then by sentinel. */
export type TriesByImage = Record<string, Record<string, Tries>>;

/** `isHeld`: a pin keeps rollouts off it. */
export type HeldDrift = Drift & { isHeld: boolean };

/** How the rollout was done that brought the image. */
export type FormerRollout = {
  policy: Policy;
  wavePercentages: number[];
  gates: readonly NamedGate[];
  /** The accounts of who has started it, the name's too: they approve no wave of the convergence. */
  starters: string[];
};

/** A request names so many sentinels at most; the next rollout takes the others. */
const mostAtOnce = 100;

const firstBackOffMs = 5 * 60_000;
const longestBackOffMs = 24 * 3_600_000;

/** Returns how long a sentinel is left alone after so many orders of the same image: twice as long after each. */
export function backOffMs(count: number): number {
  return Math.min(firstBackOffMs * 2 ** (count - 1), longestBackOffMs);
}

type Facts = {
  drifts: readonly HeldDrift[];
  tries: TriesByImage;
  /** The state of the fleet's rollout. */
  state: RolloutStateName;
  nowMs: number;
};

/** Returns the next convergence; undefined: nothing is due, or a rollout has not ended. */
export function planConvergence({ drifts, tries, state, nowMs }: Facts): Plan | undefined {
  if (isUnderWay(state)) return undefined;
  const isDue = ({ id, desired }: HeldDrift) => {
    const known = tries[desired] ?? {};
    // A fleet may call a sentinel `constructor`.
    const [count, atMs] = (Object.hasOwn(known, id) && known[id]) || [0, 0];
    return count === 0 || nowMs >= atMs + backOffMs(count);
  };
  const due = drifts.filter((one) => one.isConfirmed && !one.isHeld && isDue(one));
  const groups = [...Map.groupBy(due, ({ desired }) => desired)];
  const [largest] = groups.toSorted(
    ([a, one], [b, other]) => other.length - one.length || (a < b ? -1 : 1),
  );
  if (largest === undefined) return undefined;
  const [image, members] = largest;
  const oldest = members.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.id < b.id ? -1 : 1));
  return { image, ids: oldest.slice(0, mostAtOnce).map(({ id }) => id) };
}

type Plan = { image: string; ids: string[] };

/** Adds a try of each of these sentinels, and drops those of sentinels that have run their image for long. */
export function recordTries(
  tries: TriesByImage,
  { drifts, plan, nowMs }: { drifts: readonly Drift[]; plan?: Plan | undefined; nowMs: number },
): TriesByImage {
  const desired = new Map(drifts.map((drift) => [drift.id, drift.desired]));
  const kept: TriesByImage = {};
  for (const [image, byId] of Object.entries(tries)) {
    const entries = Object.entries(byId).filter(
      ([id, [count, atMs]]) => desired.get(id) === image || nowMs < atMs + 2 * backOffMs(count),
    );
    if (entries.length > 0) kept[image] = Object.fromEntries(entries);
  }
  if (plan === undefined) return kept;
  const before = kept[plan.image] ?? {};
  const added = plan.ids.map((id): [string, Tries] => [id, [(before[id]?.[0] ?? 0) + 1, nowMs]]);
  return { ...kept, [plan.image]: { ...before, ...Object.fromEntries(added) } };
}

/** The fields of a policy that hold for any of the fleet's sentinels. Who is taken, when and why is another rollout's. */
const inherited = [
  "on_failure",
  "max_failed",
  "soak_seconds",
  "max_per_region",
  "max_unavailable",
] as const satisfies (keyof Policy)[];

/** A request with the starters of the rollout that brought the image; absent: there was none. */
export type Convergence = RolloutRequest & Partial<Pick<FormerRollout, "starters">>;

/**
 * Returns the request of the convergence. `former`: the completed rollout of the image, whose gates it has as they
 * were then; absent: there was none, and it has those of `rows`, the definitions, that are default.
 */
export function requestOf(
  { image, ids }: Plan,
  { former, rows }: { former: FormerRollout | undefined; rows: readonly GateRow[] },
): Convergence {
  // Nobody is asked at night to confirm what was confirmed before; and drifted sentinels are no measure of the image.
  const gates = (former?.gates ?? gatesOf({}, rows)).filter(
    ({ kind }) => kind !== "pause" && kind !== "compare",
  );
  const reason = "they run another image than the desired one";
  // Also if there are none: else it would have the default ones.
  const request = { image, only: { ids }, reason, gates };
  if (former === undefined) return request;
  const { policy, wavePercentages, starters } = former;
  const rules = inherited.flatMap((name) => {
    const rule = policy[name];
    return rule === undefined ? [] : [[name, rule] as const];
  });
  return {
    ...{ ...request, starters },
    wave_percentages: wavePercentages,
    ...Object.fromEntries(rules),
  };
}
