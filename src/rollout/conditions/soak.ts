/** The soak: a wave is watched for some time before anything starts after it. */
import { formatUtc } from "#kernel/time.ts";
import type { Policy } from "#rollout/policy-contract.ts";
import type { RolloutHead, WaveProgress, WaveWait } from "#rollout/state.ts";
import { type Condition, start } from "./condition.ts";

/**
 * Nothing starts before a look at the fleet from the end of the soak or later has found nothing: what a look
 * finds for the first time takes another one. What is waited for after the soak does not make the look older
 * than a minute or so.
 */
export const evaluateSoak: Condition = ({ head, next, nowMs }) => {
  const { soakUntil, lookedAt, suspects = [] } = head.wait ?? {};
  if (next.kind === "deploy" || soakUntil === undefined) return start;
  const endMs = Date.parse(soakUntil);
  const isSeen = lookedAt !== undefined && Date.parse(lookedAt) >= Math.max(endMs, nowMs - freshMs);
  if (isSeen && suspects.length === 0) return start;
  const why = isSeen
    ? `other sentinels are not well at each look; last: ${suspects.slice(0, 5).join(", ")}`
    : "the fleet could not be looked at since";
  if (nowMs < endMs) {
    const reason = `soaks until ${formatUtc(endMs)}; Skip ends it`;
    return { action: "wait", waitingFor: "soak", reason, untilMs: endMs };
  }
  const lastMs = lastLookMs(head, { endMs, nowMs });
  if (nowMs >= lastMs) {
    const reason = `the soak is over, but ${why}`;
    return { action: "stop", cause: "fleet", reason, isOfImage: false };
  }
  const reason = `the soak is over; waits for a look at the fleet that finds nothing`;
  return { action: "wait", waitingFor: "soak", reason, untilMs: lastMs };
};

/** Counted from when a look was missing: whatever was waited for after the soak may have taken days. */
function lastLookMs({ wait }: RolloutHead, { endMs, nowMs }: { endMs: number; nowMs: number }) {
  const untilMs = wait?.waitingFor === "soak" ? Date.parse(wait.until ?? "") : Number.NaN;
  return untilMs > endMs ? untilMs : nowMs + lastLooksMs;
}

/** The limit, after the soak, of polls that find nothing. */
const lastLooksMs = 300_000;

/** Twice as long as one look may take, and the interval after the soak. */
const freshMs = 90_000;
const lateIntervalMs = 30_000;

/** True if the fleet is to be polled at `atMs`: while the wave soaks, and until the next one starts. */
export function isLookDue({ soakUntil, waitingFor, lookedAt }: WaveWait, atMs: number): boolean {
  if (soakUntil === undefined) return false;
  const isLate = lookedAt === undefined || atMs - Date.parse(lookedAt) >= lateIntervalMs;
  return waitingFor === "soak" || isLate;
}

const shortestPollMs = 5_000;

/** After so many looks a suspect is no longer looked at sooner than the others. */
const earlyLooks = 300;

/** Some 300 looks, or twice as many with suspects: the run's journal stays small. */
export function soakPollMs({ wait }: Pick<RolloutHead, "wait">, nowMs: number): number {
  const { since, soakUntil = "", suspects = [], round = 0 } = wait ?? { since: "" };
  const wholeMs = Date.parse(soakUntil) - Date.parse(since);
  const isUrgent = (suspects.length > 0 && round < earlyLooks) || nowMs >= Date.parse(soakUntil);
  return isUrgent ? shortestPollMs : Math.max(shortestPollMs, Math.ceil(wholeMs / 300) || 0);
}

/** Seconds for which this wave soaks. One number per requested percentage, or one for all. */
export function soakSecondsOf(
  { soak_seconds: soak = 0 }: Policy,
  wave: Pick<WaveProgress, "percentage">,
  wavePercentages: readonly number[],
): number {
  if (typeof soak === "number") return soak;
  return soak[wavePercentages.indexOf(wave.percentage)] ?? 0;
}
