/** Describes what the start of a planned rollout does, in the words of its confirmation. Pure. */
import { sentinels, shortImage } from "#console/web/format.ts";
import type { RolloutPlan, RolloutRequest } from "#rollout/contract.ts";
import type { Words } from "./questions.ts";
import { startWords } from "./words.ts";

export type PlannedRollout = { request: RolloutRequest; plan: RolloutPlan };

export function startWordsOf({ request, plan }: PlannedRollout, nowMs: number): Words {
  const gate = request.gate?.checks.join(", ");
  return {
    title: `Start ${shortImage(plan.image)} on ${sentinels(plan.total)}?`,
    lines: [
      firstWords(plan, nowMs),
      gate === undefined
        ? "Each wave starts when the previous one has succeeded."
        : `Each wave waits for clean runs of ${gate}.`,
      ...approvalLines(plan),
      ...(plan.left_out_count > 0 ? [`Left out: ${sentinels(plan.left_out_count)}.`] : []),
      failureWords(plan),
    ],
    verb: "Start the rollout",
    isGrave: false,
  };
}

function firstWords(plan: RolloutPlan, nowMs: number): string {
  const [first] = plan.waves;
  if (first === undefined) return `The rollout completes at once, ${plan.notes[0]}.`;
  const now = first.needs_approval ? "once it is approved" : "now";
  const at = startWords(first, nowMs);
  const when = at !== "" && first.needs_approval ? `${at}, ${now}` : at || now;
  return `Wave 1, ${sentinels(first.size)}, starts ${when}; ${plan.waves.length} waves in all.`;
}

function approvalLines({ waves }: RolloutPlan): string[] {
  const needed = waves.filter((wave) => wave.needs_approval).map(({ wave }) => wave);
  return needed.length === 0 ? [] : [`Another operator has to approve ${waveWords(needed)}.`];
}

/** Waves that follow each other are a span. */
function waveWords(needed: readonly number[]): string {
  const [first = 0] = needed;
  const last = needed.at(-1) ?? 0;
  if (last === first) return `wave ${first}`;
  const isSpan = last - first === needed.length - 1;
  return isSpan && needed.length > 2
    ? `each of waves ${first} to ${last}`
    : `waves ${needed.join(" and ")}`;
}

export function failureWords({ max_failed: inAll, waves, on_failure: then }: RolloutPlan): string {
  const what = then === "rollback" ? "The previous images are restored" : "It pauses";
  const isPerWave = waves.some(({ max_failed: limit }) => limit !== null);
  if (isPerWave) return `${what} at the first failure that is not allowed.`;
  return inAll === null
    ? `${what} at the first wave with a failure.`
    : `${what} when more than ${inAll} have failed.`;
}
