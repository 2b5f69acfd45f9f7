/** Derives the desired image of each sentinel from past rollouts, and finds those that run another one. Pure. */
import type { FleetMember } from "#fleet/contract.ts";
import type { DriftCause } from "#fleet/drift-contract.ts";
import { compareImages } from "#kernel/image-reference.ts";
import { selectorOf } from "#rollout/choice/leave-out.ts";
import type { Policy } from "#rollout/policy-contract.ts";

export type PastRollout = {
  id: string;
  image: string;
  startedAtMs: number;
  /** null: it has not ended. */
  outcome: "completed" | "rolled_back" | "cancelled" | null;
  policy: Policy;
  /** True if it left out every sentinel that did not run the image. */
  leftAllOut: boolean;
  /** True if the reconciler started it and no operator ended it: it follows what is desired, and does not change it. */
  isUnattended: boolean;
  isRollingBack?: boolean;
};

/** A sentinel in a rollout. `outcome` null: it has none; `left_out`: by a pin, not by the request. */
export type PastResult = { outcome: string | null; previousImage: string };

/** By rollout, then by sentinel. */
export type PastResults = ReadonlyMap<string, ReadonlyMap<string, PastResult>>;

/** A sentinel as its fleet lists it, and since when it is known without a gap. */
export type KnownMember = FleetMember & { joinedAtMs: number };

/** `why`: why it would run another image. */
export type Desired = {
  image: string;
  why: DriftCause;
  /** True if a rollout wants it that has not ended: it had taken the image there. */
  isUnderWay?: true;
};

/** The newest rollout of a fleet, as its object knows it. */
export type NewestRollout = { id: string; hasEnded: boolean; isRollingBack?: boolean };

/** True if history lacks this rollout, or its end: what is desired would be of the one before. */
export function isBehind(
  rollouts: readonly PastRollout[],
  newest: NewestRollout | undefined,
): boolean {
  if (newest === undefined) return false;
  const known = rollouts.find(({ id }) => id === newest.id);
  return known === undefined || (newest.hasEnded && known.outcome === null);
}

/** The newest rollouts, as far back as they may say something about a sentinel; given newest first. */
export function relevantRollouts(rollouts: readonly PastRollout[]): PastRollout[] {
  const isWhole = (one: PastRollout) =>
    hasCompleted(one) && one.policy.only === undefined && one.policy.exclude === undefined;
  const last = rollouts.findIndex(isWhole);
  return rollouts.slice(0, last === -1 ? rollouts.length : last + 1);
}

function hasCompleted({ outcome, leftAllOut }: PastRollout): boolean {
  return outcome === "completed" && !leftAllOut;
}

/** Returns the desired image of each sentinel; one that a rollout in progress has in a wave is absent, as is an unknown one. */
export function findDesired(
  members: readonly KnownMember[],
  { rollouts, results }: { rollouts: readonly PastRollout[]; results: PastResults },
): Map<string, Desired> {
  const desired = new Map<string, Desired>();
  for (const member of members) {
    const found = desiredOf(member, rollouts, results);
    if (found !== undefined) desired.set(member.id, found);
  }
  return desired;
}

/** Reads what these rollouts did to these sentinels. */
export type ReadResults = (
  rollouts: readonly PastRollout[],
  members: readonly KnownMember[],
) => Promise<PastResults>;

/** Few older rollouts are read of a sentinel about which a newer one says something: all of 50 would be millions of results. */
const readUpTo = [1, 5, Number.POSITIVE_INFINITY];

/** The same as `findDesired`, with results that are read as far back as is needed. */
export async function readDesired(
  members: readonly KnownMember[],
  { rollouts, read }: { rollouts: readonly PastRollout[]; read: ReadResults },
): Promise<Map<string, Desired>> {
  const open = rollouts.filter(({ outcome }) => outcome === null);
  const inProgress = await read(open, members);
  const isTaken = ({ id }: KnownMember) =>
    open.some((one) => isInWave(inProgress.get(one.id)?.get(id)));
  const [taken, free] = [members.filter(isTaken), members.filter((member) => !isTaken(member))];
  const results = new Map(inProgress);
  const desired = findDesired(taken, { rollouts: open, results });
  let undecided = free;
  for (const upTo of readUpTo) {
    const newer = rollouts.slice(0, upTo);
    const unread = newer.filter(({ id }) => !results.has(id));
    const found = undecided.length === 0 ? new Map() : await read(unread, undecided);
    for (const { id } of unread) results.set(id, found.get(id) ?? new Map());
    for (const [id, one] of findDesired(undecided, { rollouts: newer, results })) {
      desired.set(id, one);
    }
    undecided = undecided.filter(({ id }) => !desired.has(id));
  }
  return desired;
}

function desiredOf(
  member: KnownMember,
  rollouts: readonly PastRollout[],
  results: PastResults,
): Desired | undefined {
  const resultIn = ({ id }: PastRollout) => results.get(id)?.get(member.id);
  const open = rollouts.find((one) => one.outcome === null && isInWave(resultIn(one)));
  if (open !== undefined) return wantedMeanwhile(open, resultIn(open));
  let hasFailed = false;
  for (const rollout of rollouts) {
    const result = resultIn(rollout);
    if (rollout.isUnattended) hasFailed ||= isFailure(result);
    const found = saidBy(rollout, member, result);
    if (found !== undefined) return hasFailed ? { ...found, why: "failed" } : found;
  }
  return undefined;
}

/** A rollout in progress wants its image where it has succeeded. After one by the reconciler comes the next. */
function wantedMeanwhile(
  { image, isUnattended, isRollingBack }: PastRollout,
  result: PastResult | undefined,
): Desired | undefined {
  const isWanted = !isUnattended && !isRollingBack && result?.outcome === "succeeded";
  return isWanted ? { image, why: "drifted", isUnderWay: true } : undefined;
}

function isInWave(result: PastResult | undefined): boolean {
  return result !== undefined && result.outcome !== "left_out";
}

/** undefined: the rollout says nothing about this sentinel. */
function saidBy(
  rollout: PastRollout,
  member: KnownMember,
  result: PastResult | undefined,
): Desired | undefined {
  if (rollout.outcome === null || rollout.isUnattended) return undefined;
  return hasCompleted(rollout) ? wantedBy(rollout, member, result) : restoredBy(rollout, result);
}

/** The image that a completed rollout wants; undefined: it was not about this sentinel. */
function wantedBy(
  { image, policy, startedAtMs }: PastRollout,
  member: KnownMember,
  result: PastResult | undefined,
): Desired | undefined {
  if (result !== undefined) {
    if (result.outcome === "succeeded") return { image, why: "drifted" };
    return { image, why: isFailure(result) ? "failed" : "late" };
  }
  const { only, exclude = [] } = policy;
  const isCovered =
    (only === undefined || selectorOf(only)(member)) &&
    !exclude.some((one) => selectorOf(one)(member));
  if (!isCovered) return undefined;
  // One that ran the image already is in no wave either.
  return { image, why: member.joinedAtMs > startedAtMs ? "joined" : "drifted" };
}

/** The image that a cancelled or rolled-back rollout has left; undefined: it had not come to this sentinel. */
function restoredBy(
  { image, outcome }: PastRollout,
  result: PastResult | undefined,
): Desired | undefined {
  if (result === undefined || result.outcome === null || !isInWave(result)) return undefined;
  if (outcome === "cancelled" && result.outcome === "succeeded") return { image, why: "drifted" };
  const { previousImage } = result;
  if (previousImage === "") return undefined;
  return { image: previousImage, why: result.outcome === "reverted" ? "drifted" : "failed" };
}

function isFailure(result: PastResult | undefined): boolean {
  return result?.outcome === "failed" || result?.outcome === "not_reverted";
}

/** A sentinel that runs another image. `sinceMs`: when the list was requested that showed it first. */
export type Drift = {
  id: string;
  desired: string;
  /** Empty: it runs none. */
  running: string;
  why: DriftCause;
  sinceMs: number;
  /** As in `Desired`. */
  isUnderWay?: true;
  /** True once a later list has shown the same: one reading alone may be late or wrong. */
  isConfirmed: boolean;
};

/** `known`: what was found before, by sentinel. `listedAtMs`: when the list that `members` are of was requested. */
export function findDrift(
  desired: ReadonlyMap<string, Desired>,
  members: readonly KnownMember[],
  { known, listedAtMs }: { known: ReadonlyMap<string, Drift>; listedAtMs: number },
): Drift[] {
  return members.flatMap((member) => {
    const wanted = desired.get(member.id);
    const running = member.running_image;
    if (wanted === undefined || compareImages(running, wanted.image) !== "other") return [];
    const before = known.get(member.id);
    const isSame = before?.desired === wanted.image && before.running === running;
    const sinceMs = isSame ? Math.min(before.sinceMs, listedAtMs) : listedAtMs;
    const isConfirmed = isSame && (before.isConfirmed || sinceMs < listedAtMs);
    const { image, ...why } = wanted;
    return { id: member.id, desired: image, running, ...why, sinceMs, isConfirmed };
  });
}
