/** Plays recorded results against a policy, by the conditions of the live rollout. Pure: its time is its own. */
import { toIso } from "#kernel/time.ts";
import { freeSlots, withEndedDeploys } from "#rollout/conditions/availability.ts";
import type { Stop, Wait } from "#rollout/conditions/condition.ts";
import { mayStart } from "#rollout/conditions/decide.ts";
import { type Next, nextOf } from "#rollout/conditions/next.ts";
import { beginWait, withEnded } from "#rollout/conditions/wait.ts";
import type { CheckReport } from "#rollout/gates/kind.ts";
import { withGateReadings } from "#rollout/gates/registry.ts";
import type { RolloutHead, WaveProgress } from "#rollout/state.ts";
import type { WouldHave } from "./contract.ts";
import { DeployQueue, type PlayedDeploy } from "./deploys.ts";
import {
  type CheckRun,
  type FactMember,
  type PlayedPolicy,
  type PlayedWave,
  type ReplayFacts,
  wavesOf,
} from "./facts.ts";

/** `gateUnknown`: its reading would have gone on beyond the known runs. */
export type Played = WouldHave & { gateUnknown?: true };

/** The end of it: a condition, or that no more is known. */
type End = Stop | "gate unknown";

export function play(facts: ReplayFacts, policy: PlayedPolicy): Played {
  return new Play(facts, policy).run();
}

const anyTime = { now: { is_open: true } };

class Play {
  readonly #facts: ReplayFacts;
  readonly #waves: PlayedWave[];
  #head: RolloutHead;
  #nowMs: number;
  /** The time at which the last of the sentinels that were played had its result really. */
  #realMs: number;
  #unknown = 0;
  /** In a wait the next one is the last. */
  readonly #strays: { atMs: number; wave: number; ofFleet: boolean }[] = [];

  constructor(facts: ReplayFacts, played: PlayedPolicy) {
    this.#facts = facts;
    this.#waves = wavesOf(facts, played);
    this.#head = headOf(facts, played, this.#waves);
    this.#nowMs = facts.startedMs;
    this.#realMs = facts.startedMs;
  }

  run(): Played {
    for (const [index, wave] of this.#waves.entries()) {
      const stop = this.#runWave(index, wave) ?? this.#waitAfter(index);
      if (stop !== undefined) return this.#end(stop);
      const later = this.#waves.slice(index + 1);
      const isKnown = later.some(({ members }) => members.some(({ result }) => result));
      if (later.length > 0 && !isKnown) return this.#end("unknown");
    }
    return this.#end(this.#unknown > 0 ? "unknown" : "completed");
  }

  #end(end: End | "unknown" | "completed"): Played {
    const { waves, currentWave: wave, totalWaves, startedAt, policy } = this.#head;
    const succeeded = sumOf(waves, (one) => one.succeeded);
    const failed = sumOf(waves, (one) => one.failed);
    const counts = {
      ...{ wave, waves: totalWaves, ordered: succeeded + failed, failed, unknown: this.#unknown },
      seconds: (this.#nowMs - Date.parse(startedAt)) / 1_000,
    };
    if (end === "gate unknown") return { end: "unknown", ...counts, gateUnknown: true };
    if (end === "completed" || end === "unknown") return { end, ...counts };
    const isRolledBack = end.isOfImage && policy.on_failure === "rollback";
    const { cause, reason } = end;
    const why = { cause, ...(reason !== undefined && { reason }) };
    return { end: isRolledBack ? "rolled_back" : "paused", ...counts, ...why };
  }

  /** Returns what stops it during the wave; the deploys in flight finish then. */
  #runWave(index: number, { members }: PlayedWave): Stop | undefined {
    const { wait: _w, gateStatus: _g, unavailable: _u, ...head } = this.#head;
    const counts = head.policy.max_unavailable !== undefined;
    const unavailable = counts && { unavailable: { ids: [], more: 0 } };
    this.#head = { ...head, currentWave: index + 1, ...unavailable };
    const stop = this.#deploy(index, members);
    if (stop !== undefined) return stop;
    const { succeeded, failed, size } = this.#wave(index);
    const pinned = members.filter(({ isPinned }) => isPinned).length;
    // Without a result they neither stop the wave nor count in a budget.
    this.#wave(index).leftOut = size - succeeded - failed;
    this.#unknown += size - succeeded - failed - pinned;
    return undefined;
  }

  #deploy(index: number, members: readonly FactMember[]): Stop | undefined {
    const queue = new DeployQueue(members, this.#nowMs);
    for (;;) {
      const ended = queue.next(freeSlots(this.#head) ?? Number.POSITIVE_INFINITY);
      if (ended === undefined) return undefined;
      this.#nowMs = queue.nowMs;
      if (ended.length === 0) this.#head = withFull(this.#head);
      this.#take(index, ended);
      const verdict = this.#ask({ kind: "deploy" }, index);
      if (verdict.action !== "stop") continue;
      this.#take(index, queue.rest());
      return verdict;
    }
  }

  #take(index: number, ended: readonly PlayedDeploy[]): void {
    const wave = this.#wave(index);
    const { unavailable } = this.#head;
    const results = ended.map(({ member, result }) => ({ id: member.id, ok: result.ok }));
    if (unavailable) this.#head.unavailable = withEndedDeploys(unavailable, results);
    for (const { member, result } of ended) {
      this.#realMs = Math.max(this.#realMs, result.endMs);
      wave[result.ok ? "succeeded" : "failed"] += 1;
      if (result.ofFleet === true) addOfFleet(wave);
      const { stray } = member;
      if (stray === undefined) continue;
      const atMs = this.#nowMs + stray.atMs - result.endMs;
      this.#strays.push({ atMs, wave: index, ofFleet: stray.ofFleet === true });
    }
  }

  /** Waits for soak and gate, as a run does; returns what stops it. */
  #waitAfter(index: number): End | undefined {
    this.#strays.sort((a, b) => b.atMs - a.atMs);
    const next = this.#next();
    const ended = { ended: index, next, nowMs: this.#nowMs };
    this.#head = beginWait(withEnded(this.#head, index, this.#nowMs), ended);
    const gate = new Readings(this.#facts, { head: this.#head, sinceMs: this.#realMs });
    for (;;) {
      this.#read(gate);
      const verdict = this.#ask(next, index);
      if (verdict.action === "start" || verdict.action === "look") return undefined;
      if (isOfGate(verdict) && gate.isBeyond(this.#nowMs)) return "gate unknown";
      if (verdict.action === "stop") return verdict;
      const { untilMs = Number.POSITIVE_INFINITY } = verdict;
      const nextMs = Math.min(untilMs, gate.nextMs(this.#nowMs), this.#nextStrayMs());
      if (nextMs === Number.POSITIVE_INFINITY) return "gate unknown";
      this.#nowMs = Math.max(this.#nowMs + 1, nextMs);
    }
  }

  /** Reads fleet and checks at this moment of the wait. */
  #read(gate: Readings): void {
    const { wait, gateStatus } = this.#head;
    if (wait === undefined) return;
    const at = toIso(this.#nowMs);
    if (wait.soakUntil !== undefined) this.#fail();
    const reports = gate.at(this.#nowMs);
    const readings = this.#head.gates?.map(({ name }) => ({ name, found: { reports } })) ?? [];
    const checked = gateStatus && {
      gateStatus: withGateReadings(gateStatus, this.#head.gates ?? [], {
        readings,
        atMs: this.#nowMs,
      }),
    };
    this.#head = { ...this.#head, ...checked, wait: { ...wait, lookedAt: at } };
  }

  /** Sentinels that have failed after their success by now. */
  #fail(): void {
    for (
      let stray = this.#strays.at(-1);
      stray && stray.atMs <= this.#nowMs;
      stray = this.#strays.at(-1)
    ) {
      this.#strays.pop();
      this.#wave(stray.wave).succeeded -= 1;
      this.#wave(stray.wave).failed += 1;
      if (stray.ofFleet) addOfFleet(this.#wave(stray.wave));
    }
  }

  #nextStrayMs(): number {
    if (this.#head.wait?.soakUntil === undefined) return Number.POSITIVE_INFINITY;
    return this.#strays.at(-1)?.atMs ?? Number.POSITIVE_INFINITY;
  }

  #next(): Next {
    return nextOf(this.#head);
  }

  #ask(next: Next, wave: number) {
    const fleet = { unhealthy: 0, ofNext: 0 };
    const nowMs = this.#nowMs;
    return mayStart({ head: this.#head, next, wave, nowMs, windows: anyTime, fleet });
  }

  #wave(index: number): WaveProgress {
    return this.#head.waves[index] as WaveProgress;
  }
}

/** True if it lacks clean runs: a failed one is known. */
function isOfGate(verdict: Stop | Wait): boolean {
  if (verdict.action === "wait") return verdict.waitingFor === "gate";
  return verdict.cause === "gate" && !verdict.isOfImage;
}

/** The checks' reports at times of the replay: of the runs since the played sentinels had their results. */
class Readings {
  readonly #runs: (CheckRun & { atMs: number })[];
  readonly #untilMs: number;
  readonly #clean = new Map<string, number>();
  readonly #failed = new Map<string, CheckRun["failure"]>();
  #read = 0;

  constructor(
    { runs, runsUntilMs }: ReplayFacts,
    { head, sinceMs }: { head: RolloutHead; sinceMs: number },
  ) {
    const shiftMs = Date.parse(head.wait?.since ?? "") - sinceMs;
    const states = head.gateStatus?.gates.flatMap(({ checks = [] }) => checks);
    const checks = new Set(states?.map(({ check }) => check));
    const own = runs.filter((run) => checks.has(run.check) && run.scheduledMs >= sinceMs);
    this.#runs = own.map((run) => ({ ...run, atMs: run.decidedMs + shiftMs }));
    this.#untilMs = runsUntilMs + shiftMs;
  }

  isBeyond(nowMs: number): boolean {
    return nowMs > this.#untilMs;
  }

  /** The time of the next reading that may say something new: a run, or the first moment of which nothing is known. */
  nextMs(nowMs: number): number {
    const endMs = this.isBeyond(nowMs) ? Number.POSITIVE_INFINITY : this.#untilMs + 1;
    return this.#runs[this.#read]?.atMs ?? endMs;
  }

  at(nowMs: number): CheckReport[] {
    while ((this.#runs[this.#read]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) this.#count();
    const checks = new Set([...this.#clean.keys(), ...this.#failed.keys()]);
    return [...checks].map((check) => ({
      check,
      cleanRuns: this.#clean.get(check) ?? 0,
      failedRun: this.#failed.get(check) ?? null,
    }));
  }

  #count(): void {
    const run = this.#runs[this.#read++];
    if (run?.isClean) this.#clean.set(run.check, (this.#clean.get(run.check) ?? 0) + 1);
    if (run?.failure && !this.#failed.has(run.check)) this.#failed.set(run.check, run.failure);
  }
}

function addOfFleet(wave: WaveProgress): void {
  wave.fleetFailed = (wave.fleetFailed ?? 0) + 1;
}

function withFull(head: RolloutHead): RolloutHead {
  const { unavailable } = head;
  return unavailable ? { ...head, unavailable: { ...unavailable, isFull: true } } : head;
}

function sumOf(waves: readonly WaveProgress[], count: (wave: WaveProgress) => number): number {
  return waves.reduce((total, wave) => total + count(wave), 0);
}

/** Approvals and the requested start are people's time, and wait for nobody here. */
function headOf(
  facts: ReplayFacts,
  { policy, gates, wavePercentages }: PlayedPolicy,
  played: readonly PlayedWave[],
): RolloutHead {
  const { rolloutId, image, startedMs, fleetSize } = facts;
  const { approvals: _a, not_before: _n, ...rules } = policy;
  const waves = played.map(({ percentage, members }) => ({
    ...{ percentage, size: members.length, firstBatch: 0, batches: 0 },
    ...{ succeeded: 0, failed: 0, passedOver: 0 },
  }));
  return {
    ...{ state: "in_progress", rolloutId, image, requestedImage: image, startedBy: "", runner: "" },
    ...{ startedAt: toIso(startedMs), updatedAt: toIso(startedMs), sequence: 0, captured: true },
    ...{
      policy: rules,
      wavePercentages: [...wavePercentages],
      ...(gates.length > 0 && { gates: [...gates] }),
    },
    ...{ waves, totalWaves: waves.length, total: sumOf(waves, ({ size }) => size) },
    ...{ currentWave: 0, endedWaves: 0, succeeded: 0, failed: 0, reverted: 0 },
    ...{ revertedByLastRollback: 0, tallies: {}, failedSample: [], notReverted: [] },
    openBatches: {},
    ...(fleetSize !== undefined && { fleetSize }),
  };
}
