/** The fleets as rollouts know them: each has one rollout at a time, under its name as the key. */
import type { CiEvidence } from "#ci/contract.ts";
import {
  type FleetMember,
  type FleetOperators,
  isOperatorOf,
  notOperatorOf,
} from "#fleet/contract.ts";
import type { OnDrift } from "#fleet/drift-contract.ts";
import { type Actor, nameOf } from "#kernel/actor.ts";
import { ProblemError } from "#kernel/problem.ts";
import { noSuch } from "#kernel/text.ts";
import { type RolloutProblemCode, singletonKey } from "./contract.ts";
import type { PrometheusServer } from "./gates/query-prometheus.ts";
import type { HeadPolicy } from "./state.ts";

/** The fleet as it is now. Throws when it cannot be listed. */
export type ListFleet = () => Promise<FleetMember[]>;

/**
 * Checks that an image exists, and returns it pinned to its digest; with what shows that it has passed CI, where the
 * settings ask for that. `isOpen`: in any private network, too. Throws a `ProblemError`.
 */
export type ResolveImage = (image: string, isOpen: boolean) => Promise<CheckedImage>;

export type CheckedImage = { image: string; ci?: CiEvidence[] };

/** `name`: the key of its rollout; `singleton`: the default fleet's. */
export type RolloutFleet = FleetOperators & {
  listFleet: ListFleet;
  /** Why its newest list was not accepted; null: it was. */
  readProblem: () => Promise<string | null>;
  resolveImage: ResolveImage;
  /** The settings, used for what a request leaves out. */
  policy: HeadPolicy;
  /** The limit of a deploy; it also bounds the wait for deploys that an earlier run left in flight. */
  deployTimeoutMs: number;
  /** Deploys in flight over the whole fleet. */
  maxParallel: number;
  /** Where gates measure; absent: nowhere. */
  prometheus?: PrometheusServer;
  /** True if the counters of its sentinels are recorded. */
  hasCounters?: boolean;
  /** Absent: `report`. */
  onDrift?: OnDrift;
  /** A list that is older says nothing about now; absent: eight minutes. */
  listMaxAgeMs?: number;
};

export type Fleets = {
  names: readonly string[];
  /** A fleet that the settings do not have any more cannot be listed, and no image is found for it. */
  get: (name: string) => RolloutFleet;
  /** Throws `unknown_key` (404). */
  require: (name: string) => RolloutFleet;
  /** Throws `not_an_operator` (403) for a caller who may not change this fleet's rollouts. */
  requireOperator: (actor: Actor, name: string) => void;
};

export function createFleets(fleets: readonly RolloutFleet[]): Fleets {
  const byName = new Map(fleets.map((fleet) => [fleet.name, fleet]));
  const names = [...byName.keys()];
  return {
    names,
    get: (name) => byName.get(name) ?? removedFleet(name),
    require: (name) => {
      const fleet = byName.get(name);
      if (fleet === undefined) throw unknownKey(name, names);
      return fleet;
    },
    requireOperator: (actor, name) => requireOperator(actor, byName.get(name) ?? { name }),
  };
}

export function unknownKey(
  name: string,
  names: readonly string[],
): ProblemError<RolloutProblemCode> {
  return new ProblemError<RolloutProblemCode>({
    status: 404,
    code: "unknown_key",
    detail: noSuch("fleet", name, names),
  });
}

/** Returns a fleet that never answers, so that a run which it already has ends. */
function removedFleet(name: string): RolloutFleet {
  const refuse = async () => {
    throw new Error(`there is no fleet "${name}" in the settings any more (fleets.${name})`);
  };
  const limits = { maxParallel: 1, deployTimeoutMs: 60_000, policy: {} };
  return { name, ...limits, listFleet: refuse, readProblem: refuse, resolveImage: refuse };
}

/** The fleet's name in what the parts of a rollout send each other; without it: the default fleet. */
export type OfFleet = { fleet?: string };

/** Absent for the default fleet. */
export function ofFleet(name: string): OfFleet {
  return name === singletonKey ? {} : { fleet: name };
}

/** The key of the rollout object of this fleet. */
export function keyOf({ fleet = singletonKey }: { fleet?: string | undefined }): string {
  return fleet;
}

/** Throws `not_an_operator` (403) for a caller who may not change the fleet's rollouts. */
export function requireOperator(actor: Actor, fleet: FleetOperators): void {
  const by = nameOf(actor);
  if (isOperatorOf(fleet, by)) return;
  throw new ProblemError<RolloutProblemCode>({
    status: 403,
    code: "not_an_operator",
    detail: notOperatorOf(fleet, by),
  });
}
