import { createTable, plain } from "#cli/table.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import { whichOf } from "#kernel/words.ts";
import type { RolloutPlan } from "#rollout/contract.ts";
import { evidenceLines } from "./report.ts";

export function reportPlan(plan: RolloutPlan): string {
  const hasTimes = !startsAtOnce(plan);
  const first = ["wave", "percent", "sentinels", "covered", "regions"];
  const table = createTable([...first, ...(hasTimes ? ["not before"] : []), "conditions"]);
  for (const wave of plan.waves) {
    const { percentage, size, covered, regions, earliest_start: start } = wave;
    const spread = Object.entries(regions).map(([region, count]) => `${region} ${count}`);
    table.push([
      wave.wave,
      `${percentage} %`,
      size,
      `${covered}/${plan.total}`,
      spread.join(", "),
      ...(hasTimes ? [formatUtc(start) || "not within a year"] : []),
      stepsOf(wave),
    ]);
  }
  const left = plan.already_running > 0 ? ` (${plan.already_running} run it already)` : "";
  const head = `${shortenImage(plan.image)}\n${plan.total} sentinels in ${plan.waves.length} waves${left}`;
  const notes = [...ciLines(plan), ...hindranceLines(plan), ...leftOutLines(plan)];
  const warnings = plan.warnings.map((warning) => `Warning: ${plain(warning)}`);
  const said = [failureWords(plan), ...plan.notes.map(plain), ...notes, ...warnings];
  return [head, ...(plan.waves.length > 0 ? [table] : []), ...said].join("\n");
}

/** Lists the waits before a wave and after it. */
function stepsOf({ needs_approval: needs, soak_seconds: soak }: RolloutPlan["waves"][number]) {
  const steps = [
    ...(needs ? ["after an approval"] : []),
    ...(soak > 0 ? [`soaks ${formatDuration(soak * 1_000)}`] : []),
  ];
  return steps.join(", ");
}

/** True if nothing but the waves themselves takes time: no window, no soak. */
function startsAtOnce({ waves }: RolloutPlan): boolean {
  const inAMinuteMs = Date.now() + 60_000;
  return waves.every(
    ({ earliest_start: start = "" }) => start !== null && !(Date.parse(start) >= inAMinuteMs),
  );
}

function ciLines({ ci }: RolloutPlan): string[] {
  const isRefused = ci.some(({ passes }) => !passes);
  const refusal =
    "Rollout refuses this image: the settings ask for all of these (rollout.require_ci).";
  return [...evidenceLines(ci), ...(isRefused ? [refusal] : [])];
}

function hindranceLines({ hindrances }: RolloutPlan): string[] {
  if (hindrances.length === 0) return [];
  const named = hindrances.map((one) => `  ${plain(one)}`);
  return ["Rollout refuses this image, which other fleets take first:", ...named];
}

/** Most sentinels that are named. */
const namedLeftOut = 10;

function leftOutLines({ left_out: named, left_out_count: count, policy }: RolloutPlan): string[] {
  if (count === 0) return [];
  // The command line gives one at most.
  const [excluded = {}] = policy.exclude ?? [];
  const lines = named.slice(0, namedLeftOut).map(({ id, pin, reason }) => {
    const by = pin === null ? "excluded" : `pin ${pin}`;
    const choice = excluded.ids === undefined ? whichOf(excluded) : "by its id";
    const why = reason || (pin === null ? choice : "");
    return `  ${plain(id)}: ${by}${why === "" ? "" : `, ${plain(why)}`}`;
  });
  const more = count > lines.length ? [`  and ${count - lines.length} more`] : [];
  return [`Left out: ${count}`, ...lines, ...more];
}

function failureWords({ waves, max_failed: inAll, on_failure: then }: RolloutPlan): string {
  const perWave = waves.map(({ max_failed: limit }) => limit);
  const limits = [
    ...(perWave.every((limit) => limit === null) ? [] : [`${perWave.join(", ")} by wave`]),
    ...(inAll === null ? [] : [`${inAll} in all`]),
  ];
  const allowed = limits.length === 0 ? "none" : limits.join("; ");
  const what = then === "rollback" ? "the previous images are restored" : "it pauses";
  return `Deploys that may fail: ${allowed}. With more ${what}.`;
}
