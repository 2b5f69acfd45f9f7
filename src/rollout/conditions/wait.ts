/** The time between the end of a wave and the next thing that starts. Pure. */
import { formatUtc, toIso } from "#kernel/time.ts";
import { timeoutWords } from "#kernel/words.ts";
import type { PauseCause } from "#rollout/contract.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import { closeGates, viewGates } from "#rollout/gates/registry.ts";
import type { WaitReason } from "#rollout/policy-contract.ts";
import type { RolloutHead, WaveProgress, WaveWait } from "#rollout/state.ts";
import type { Wait } from "./condition.ts";
import { gateSleepMs } from "./gate.ts";
import { type Next, unresolved } from "./next.ts";
import { soakPollMs, soakSecondsOf } from "./soak.ts";

export function endedWave({ wait }: RolloutHead): number | undefined {
  return wait?.ended;
}

/** A wave whose last results came while no run led the rollout: it was not judged yet. */
export function unjudgedWave({ waves, currentWave, endedWaves }: RolloutHead): number | undefined {
  const index = currentWave - 1;
  const wave = waves[index];
  const isOver = wave !== undefined && unresolved(wave) === 0;
  return isOver && endedWaves <= index ? index : undefined;
}

/** The head of which this wave counts as ended, if all of its members have a result. */
export function withEnded(head: RolloutHead, wave: number | undefined, nowMs: number): RolloutHead {
  const ended = wave === undefined ? undefined : head.waves[wave];
  if (wave === undefined || ended === undefined || unresolved(ended) > 0) return head;
  if (head.endedWaves > wave) return head;
  const endedAt = toIso(nowMs);
  const waves = head.waves.map((one) => (one === ended ? { ...one, endedAt } : one));
  return { ...head, waves, endedWaves: wave + 1 };
}

/** The head once wave `ended` is over: only runs from now on count, read before the next one starts and in the soak. */
export function beginWait(
  head: RolloutHead,
  { ended, next, nowMs }: { ended: number; next: Next; nowMs: number },
): RolloutHead {
  const wave = head.waves[ended] as WaveProgress;
  const soakMs = soakSecondsOf(head.policy, wave, head.wavePercentages) * 1_000;
  const isGated = next.kind === "wave" || soakMs > 0;
  const gates = isGated ? (head.gates ?? []).filter((gate) => isFor(gate, next)) : [];
  return {
    ...head,
    wait: {
      ended,
      since: toIso(nowMs),
      round: 0,
      ...(soakMs > 0 && { soakUntil: toIso(nowMs + soakMs) }),
    },
    ...(gates.length > 0 && { gateStatus: closeGates(gates, ended + 1, nowMs) }),
  };
}

/** After the last wave nothing waits for a confirmation, and there is no other image to compare with. */
function isFor({ kind }: NamedGate, next: Next): boolean {
  return next.kind === "wave" || (kind !== "pause" && kind !== "compare");
}

/** The head with what it waits for now, as Status shows it. */
export function withVerdict(head: RolloutHead, verdict: Wait): RolloutHead & { wait: WaveWait } {
  const { waitingFor, reason, untilMs, isForStart, asksPeople } = verdict;
  const first: WaveWait = { since: head.updatedAt, round: 0 };
  const { until: _u, isForStart: _s, asksPeople: _a, ...before } = head.wait ?? first;
  const until = untilMs === undefined ? {} : { until: toIso(untilMs) };
  const round = before.round + 1;
  const shown = {
    ...{ waitingFor, reason, ...until },
    ...(isForStart === true && { isForStart }),
    ...(asksPeople === true && { asksPeople }),
  };
  return { ...head, wait: { ...before, round, ...shown } };
}

/** Says when and how the wait ends by itself, in one line. The first gate to end may be another than the one it waits for. */
export function describeEnd({ wait, gateStatus }: RolloutHead): string[] {
  if (wait?.until === undefined) return [];
  const isGate = wait.waitingFor === "gate" && gateStatus !== undefined;
  const ofWait = { until: wait.until, on_timeout: "continue" } as const;
  const { until, on_timeout } = isGate ? viewGates(gateStatus) : ofWait;
  return [`It ${timeoutWords[on_timeout]} at ${formatUtc(until)}.`];
}

/** Returns how long the run sleeps before it polls again: to the very end of the wait, or one interval. */
export function sleepMsOf(head: RolloutHead, verdict: Wait, nowMs: number): number {
  const { untilMs = Number.POSITIVE_INFINITY, waitingFor } = verdict;
  const { retryMs = intervals[waitingFor](head, nowMs) } = verdict;
  return Math.max(1, Math.min(retryMs, untilMs - nowMs, gateSleepMs(head, nowMs)));
}

const intervals: Record<WaitReason, (head: RolloutHead, nowMs: number) => number> = {
  soak: soakPollMs,
  gate: () => longestSleepMs,
  approval: idlePollMs,
  window: idlePollMs,
};

const longestSleepMs = 3_600_000;

/** An approval or changed window ends the sleep; after a soak, or with a gate, it polls until the next wave. */
function idlePollMs({ wait, gateStatus }: RolloutHead): number {
  if (wait?.soakUntil === undefined && gateStatus === undefined) return longestSleepMs;
  const { since, until = "" } = wait ?? { since: "" };
  const wholeMs = Date.parse(until) - Date.parse(since);
  return Number.isNaN(wholeMs) ? 600_000 : Math.min(600_000, Math.max(60_000, wholeMs / 300));
}

/**
 * The head of a rollout that goes on. A wait goes on with it where it was only interrupted, and a gate has
 * as long as it had left. Nobody has looked meanwhile, so that one look comes before anything starts. A wave
 * because of which it stopped is judged, however late its last results came: the next one starts.
 */
export function withResumedWait(head: RolloutHead, nowMs: number): RolloutHead {
  if (!wasInterrupted(head)) {
    // Whoever resumes has seen the evidence: the next waves have to bring their own.
    const { ledgers: _, ...unjudged } = withoutAnyWait(head);
    return withEnded(unjudged, head.currentWave - 1, Date.parse(head.updatedAt));
  }
  const ended = endedWave(head);
  const wave = ended === undefined ? undefined : head.waves[ended];
  if (wave === undefined || unresolved(wave) > 0) return withoutAnyWait(head);
  const resumed = { ...head, ...(head.wait && { wait: resumeWait(head.wait, nowMs) }) };
  if (head.gateStatus === undefined) return resumed;
  const pausedMs = Math.max(0, nowMs - Date.parse(head.updatedAt));
  const gates = head.gateStatus.gates.map((gate) => ({
    ...gate,
    until: toIso(Date.parse(gate.until) + pausedMs),
  }));
  return { ...resumed, gateStatus: { ...head.gateStatus, gates } };
}

/** A Skip was for the wave that would have started then. */
function resumeWait({ soakUntil, skipsWindows: _, ...wait }: WaveWait, nowMs: number): WaveWait {
  const resumedAt = toIso(nowMs);
  if (soakUntil === undefined) return { ...wait, resumedAt };
  return { ...wait, resumedAt, soakUntil: toIso(Math.max(nowMs, Date.parse(soakUntil))) };
}

/** True if it was stopped from outside, and not because of its results. */
export function wasInterrupted({ cause }: Pick<RolloutHead, "cause">): boolean {
  return cause !== undefined && interruptions.includes(cause);
}

const interruptions: readonly PauseCause[] = ["operator", "run", "version", "drift"];

export function withoutAnyWait({ wait: _w, gateStatus: _g, ...head }: RolloutHead): RolloutHead {
  return head;
}

/** The head without the wait that an operator may end; undefined: there is none. */
export function withoutWait(head: RolloutHead): RolloutHead | undefined {
  const { waitingFor } = head.wait ?? {};
  if (head.wait === undefined || waitingFor === undefined) return undefined;
  const { wait = head.wait } = withoutReason(head);
  const { soakUntil: _s, ...unsoaked } = wait;
  const skipped: Record<WaitReason, RolloutHead | undefined> = {
    soak: { ...head, wait: unsoaked },
    gate: withoutGates({ ...head, wait }),
    approval: undefined,
    window:
      head.wait.isForStart === true
        ? { ...head, wait, startsEarly: true as const }
        : { ...head, wait: { ...wait, skipsWindows: true as const } },
  };
  return skipped[waitingFor];
}

/** The head with no gates but those that people confirm; undefined: it waits for these alone. */
function withoutGates({ gateStatus, ...head }: RolloutHead): RolloutHead | undefined {
  const pending = gateStatus?.gates.filter(({ verdict }) => verdict !== "pass") ?? [];
  const gates = pending.filter(({ kind }) => kind === "pause");
  if (gateStatus === undefined || gates.length === 0) return head;
  return gates.length < pending.length
    ? { ...head, gateStatus: { ...gateStatus, gates } }
    : undefined;
}

/** The head that waits for nothing any more, but knows what was skipped until the next thing starts. */
export function withoutReason({ wait, ...head }: RolloutHead): RolloutHead {
  if (wait === undefined) return head;
  const { waitingFor: _w, reason: _r, until: _u, isForStart: _s, asksPeople: _a, ...rest } = wait;
  return { ...head, wait: rest };
}

/** The signal by which the run stops sleeping in this round of its wait. */
export function wakeSignal(round: number): string {
  return `wake ${round}`;
}
