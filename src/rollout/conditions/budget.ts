/** The failure budget: how many deploys may fail before the rollout stops. */
import type { MaxFailed } from "#rollout/policy-contract.ts";
import type { RolloutHead, WaveProgress } from "#rollout/state.ts";
import { limitOf } from "#rollout/values-contract.ts";
import { type Condition, type Stop, start } from "./condition.ts";

/** Without a budget a wave ends, and its first failure is one too many. All waves are judged: soaks go on. */
export const evaluateBudget: Condition = ({ head, wave: index, next }) => {
  if (index === undefined) return start;
  const begun = head.waves.slice(0, index + 1);
  const budget = head.policy.max_failed;
  if (budget !== undefined) return evaluateLimits(head, begun, budget) ?? start;
  const failed = begun.filter((wave) => freshFailures(wave) > 0);
  if (next.kind === "deploy" || failed.length === 0) return start;
  return ofFleet(failed) ?? { action: "stop", cause: "sentinels", isOfImage: true };
};

/** Failures since the last Resume. */
function freshFailures(wave: WaveProgress): number {
  return wave.failed - wave.passedOver;
}

function evaluateLimits(
  head: RolloutHead,
  begun: readonly WaveProgress[],
  { per_wave, in_all }: MaxFailed,
): Stop | undefined {
  const limits = [
    ...begun.map((wave) => ({ name: "per_wave", waves: [wave], of: wave.size, limit: per_wave })),
    { name: "in_all", waves: begun, of: head.total, limit: in_all },
  ];
  for (const { name, waves, of, limit } of limits) {
    const failed = waves.reduce((sum, one) => sum + freshFailures(one), 0);
    if (limit === undefined || failed <= limitOf(limit, of)) continue;
    const share = typeof limit === "string" ? `${limit} of ${of}, ` : "";
    const reason = `${failed} failed, ${allowedWords(limitOf(limit, of))} (${share}max_failed.${name})`;
    return ofFleet(waves) ?? { action: "stop", cause: "budget", reason, isOfImage: true };
  }
  return undefined;
}

/** `2 are allowed` */
export function allowedWords(limit: number): string {
  return `${limit} ${limit === 1 ? "is" : "are"} allowed`;
}

/** Failures of the fleet's API say nothing about the image; undefined: some are others. */
export function ofFleet(waves: readonly WaveProgress[]): Stop | undefined {
  const sum = (count: (wave: WaveProgress) => number) =>
    waves.reduce((total, wave) => total + count(wave), 0);
  const fresh = sum(freshFailures);
  const caused = sum(({ fleetFailed = 0, fleetPassedOver = 0 }) => fleetFailed - fleetPassedOver);
  if (caused < fresh) return undefined;
  const of = waves.length === 1 ? "of the wave" : "of the rollout";
  const reason = `the fleet's API is failing: it caused every failed deploy ${of}, ${fresh} in all`;
  return { action: "stop", cause: "fleet", reason, isOfImage: false };
}
