/** The commands that start, follow and control a rollout. Each returns its exit code. */
import { type Connection, connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson, usageError } from "#cli/print.ts";
import { selectorOf } from "#cli/selector.ts";
import type { Labels } from "#fleet/contract.ts";
import {
  isLeftBehind,
  type RollbackResult,
  type RolloutRequest,
  type RolloutStatus,
} from "#rollout/contract.ts";
import { CheckGate } from "#rollout/gates/contract.ts";
import type { Approvals, OnFailure, Policy } from "#rollout/policy-contract.ts";
import type { Limit } from "#rollout/values-contract.ts";
import { callAndPoll, exitCodeOf, isStopped, poll, type StartCall } from "./follow.ts";
import { createProgress, type Progress, planOf, sizesOf } from "./progress.ts";
import { reportHistory, reportRollback, reportStatus, withFleetOption } from "./report.ts";
import { reportPlan } from "./report-plan.ts";
import { readGatesFile } from "./request-file.ts";

// Detaching from a rollout that is followed: the rollout continues.

/** The shell's exit codes for a program that a signal ended. */
const codes = { SIGINT: 130, SIGTERM: 143 } as const;

/** Follows until the end or Ctrl-C, and then prints how to follow again. Returns the exit code, or the shell's. */
export async function untilDetached(
  follow: (signal: AbortSignal) => Promise<number>,
  { cleanUp, fleet }: { cleanUp: () => void; fleet: string | undefined },
): Promise<number> {
  const controller = new AbortController();
  let code: number | undefined;
  const detach = (name: keyof typeof codes) => {
    code = codes[name];
    controller.abort();
  };
  const names = Object.keys(codes) as (keyof typeof codes)[];
  // Once: a second Ctrl-C ends the program at once.
  for (const name of names) process.once(name, detach);
  try {
    return await follow(controller.signal);
  } catch (error) {
    if (code === undefined) throw error;
    cleanUp();
    const watch = withFleetOption("npx vedette rollout watch", fleet);
    process.stderr.write(`\nDetached; the rollout continues. Follow it: ${watch}\n`);
    return code;
  } finally {
    cleanUp();
    for (const name of names) process.off(name, detach);
  }
}

export type StartOptions = GlobalOptions & {
  waves?: number[];
  wait?: boolean;
  gate?: string[];
  gateCleanRuns?: number;
  gateTimeout?: number;
  gates?: string;
  maxFailed?: Limit;
  maxFailedPerWave?: Limit;
  onFailure?: OnFailure;
  soak?: number | number[];
  watchFor?: number;
  notBefore?: string;
  approvals?: Approvals;
  reason?: string;
} & ChoiceOptions;

type ChoiceOptions = {
  onlyIds?: string[];
  onlyRegions?: string[];
  onlyLabels?: Labels;
  excludeIds?: string[];
  excludeRegions?: string[];
  excludeLabels?: Labels;
  regions?: string[];
  canary?: Labels;
  maxPerRegion?: Limit;
  maxUnavailable?: Limit;
};

const pollEveryMs = 500;

/** Shorter: the terminal shows nothing until the rollout has started, and the command then returns. */
const startPollEveryMs = 100;

/** Limit of the wait for the fleet's list, which shows if there is anything to do. */
const firstWaveWithinMs = 2_000;

export async function startRollout(image: string, options: StartOptions): Promise<number> {
  const connection = connect(options);
  const call: StartCall = { handler: "Rollout", body: requestOf(image, options) };
  if (options.wait !== true) return startOnly(connection, call, options);
  const progress = await createBarsFor(options, () => planOf(connection, call.body));
  return startAndWait(connection, call, { progress, json: options.json });
}

type ResumeOptions = GlobalOptions & { wait?: boolean; retryFailed?: boolean };

export async function resumeRollout(options: ResumeOptions): Promise<number> {
  const connection = connect(options);
  const call: StartCall = {
    handler: "Resume",
    body: options.retryFailed === true ? { retry_failed: true } : {},
  };
  if (options.wait !== true) return startOnly(connection, call, options);
  const progress = await createBarsFor(options, () => sizesOf(connection));
  return startAndWait(connection, call, { progress, json: options.json });
}

function requestOf(image: string, options: StartOptions): RolloutRequest {
  const gates = readGatesFile(options.gates);
  const waves = { wave_percentages: options.waves, gate: gateOf(options), gates };
  return { image: image.trim(), ...waves, ...policyOf(options) };
}

function policyOf(options: StartOptions): Policy {
  const { maxFailed: in_all, maxFailedPerWave: per_wave, approvals, reason } = options;
  const hasLimit = in_all !== undefined || per_wave !== undefined;
  return {
    ...(hasLimit && { max_failed: { in_all, per_wave } }),
    on_failure: options.onFailure,
    soak_seconds: options.soak,
    watch_for: options.watchFor,
    not_before: options.notBefore,
    ...{ approvals, reason },
    ...choiceOf(options),
  };
}

function choiceOf(options: ChoiceOptions): Policy {
  const { excludeIds: ids, excludeRegions, excludeLabels: labels, regions } = options;
  const { onlyIds, onlyRegions, onlyLabels } = options;
  const exclude = selectorOf({ ids, regions: excludeRegions, labels });
  return {
    only: selectorOf({ ids: onlyIds, regions: onlyRegions, labels: onlyLabels }),
    ...(exclude && { exclude: [exclude] }),
    regions,
    canary_labels: options.canary,
    max_per_region: options.maxPerRegion,
    max_unavailable: options.maxUnavailable,
  };
}

function gateOf({ gate: checks, gateCleanRuns, gateTimeout }: StartOptions): CheckGate | undefined {
  if (checks !== undefined) {
    return CheckGate.parse({ checks, clean_runs: gateCleanRuns, timeout_seconds: gateTimeout });
  }
  if (gateCleanRuns === undefined && gateTimeout === undefined) return undefined;
  throw usageError("--gate-clean-runs and --gate-timeout need --gate, which names the checks");
}

/** Reads the sizes of the waves only where they are shown. */
async function createBarsFor(
  { json }: GlobalOptions,
  findWaves: () => ReturnType<typeof sizesOf>,
): Promise<Progress> {
  const waves = process.stdout.isTTY && !json ? await findWaves() : undefined;
  return createProgress(process.stdout, { json, waves });
}

type ShowOptions = { progress: Progress; json: boolean };

async function startAndWait(
  connection: Connection,
  call: StartCall,
  shown: ShowOptions,
): Promise<number> {
  const { progress } = shown;
  const isEnd = (status: RolloutStatus) => {
    progress.show(status);
    return false;
  };
  const follow = async (signal: AbortSignal) => {
    const wanted = { everyMs: pollEveryMs, signal, isEnd, log: progress.log };
    return showEnd(await callAndPoll(connection, call, wanted), shown);
  };
  return untilDetached(follow, { cleanUp: progress.stop, fleet: connection.fleet });
}

function showEnd(status: RolloutStatus, { progress, json }: ShowOptions): number {
  progress.show(status);
  progress.stop();
  if (!json) print(reportStatus(status));
  return exitCodeOf(status);
}

async function startOnly(
  connection: Connection,
  call: StartCall,
  { json }: GlobalOptions,
): Promise<number> {
  const follow = async (signal: AbortSignal) => {
    const { log } = createProgress(process.stderr, { json: false });
    const untilMs = performance.now() + firstWaveWithinMs;
    const isEnd = (now: RolloutStatus) =>
      isStopped(now) ||
      now.total_waves > 0 ||
      now.waiting_for != null ||
      performance.now() > untilMs;
    const wanted = { everyMs: startPollEveryMs, signal, isEnd, log };
    return showAnswer(await callAndPoll(connection, call, wanted), { json });
  };
  return untilDetached(follow, { cleanUp: () => {}, fleet: connection.fleet });
}

/** Follows the current rollout until it stops. Returns at once when none runs. */
export async function watch(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const progress = await createBarsFor(options, () => sizesOf(connection));
  const follow = async (signal: AbortSignal) => {
    // The first call is not retried: a wrong address fails at once.
    await connection.rollout("Status", {}, { signal });
    const isEnd = (status: RolloutStatus) => {
      progress.show(status);
      return isStopped(status);
    };
    const wanted = { everyMs: pollEveryMs, signal, isEnd, log: progress.log };
    return showEnd(await poll(connection, wanted), { progress, json: options.json });
  };
  return untilDetached(follow, { cleanUp: progress.stop, fleet: connection.fleet });
}

/** Exit code 0 when all sentinels were reverted, 2 when some were not or serve nothing, or the rollback ended early. */
export async function rollBack(
  options: GlobalOptions & { includeFailed?: boolean },
): Promise<number> {
  const connection = connect(options);
  const progress = createProgress(process.stderr, { json: false });
  const isEnd = (status: RolloutStatus) => {
    progress.show(status);
    return false;
  };
  const follow = async (signal: AbortSignal) => {
    const wanted = { everyMs: pollEveryMs, signal, isEnd, log: progress.log };
    const body = options.includeFailed === true ? { include_failed: true } : {};
    const call: StartCall = { handler: "RollbackAll", body };
    const result = (await callAndPoll(connection, call, wanted)) as RollbackResult;
    if (options.json) printJson(result);
    else print(reportRollback(result));
    return isWhole(result) ? 0 : 2;
  };
  return untilDetached(follow, { cleanUp: progress.stop, fleet: connection.fleet });
}

export function isWhole({ not_reverted, reason, standing = [] }: RollbackResult): boolean {
  return not_reverted.length === 0 && !standing.some(isLeftBehind) && reason === undefined;
}

export async function showStatus(options: GlobalOptions): Promise<number> {
  return showAnswer(await connect(options).rollout("Status", {}), options);
}

function showAnswer(status: RolloutStatus, { json }: Pick<GlobalOptions, "json">): number {
  return printAnswer(status, json, reportStatus);
}

export async function showPlan(image: string, options: StartOptions): Promise<number> {
  const plan = await connect(options).rollout("Plan", requestOf(image, options));
  return printAnswer(plan, options.json, reportPlan);
}

export async function cancelRollout(options: GlobalOptions): Promise<number> {
  return showAnswer(await connect(options).rollout("Cancel", {}), options);
}

export async function pauseRollout(options: GlobalOptions): Promise<number> {
  return showAnswer(await connect(options).rollout("Pause", {}), options);
}

export async function skipWait(options: GlobalOptions & { reason: string }): Promise<number> {
  const { reason } = options;
  return showAnswer(await connect(options).rollout("Skip", { reason }), options);
}

type ApproveOptions = GlobalOptions &
  Partial<{ reason: string; wave: number; rollout: string; gate: string }>;

/** Approves the pending wave, unless the options name one: a wave that is pending later is not approved. */
export async function approveWave(options: ApproveOptions): Promise<number> {
  const { reason, gate } = options;
  const connection = connect(options);
  const { rollout_id, current_wave } = await connection.rollout("Status", {});
  const wave = options.wave ?? current_wave + 1;
  const body = { reason, gate, wave, rollout_id: options.rollout ?? rollout_id ?? "" };
  return showAnswer(await connection.rollout("Approve", body), options);
}

export async function showHistory(options: GlobalOptions & { limit: number }): Promise<number> {
  const history = await connect(options).rollout("History", { limit: options.limit });
  return printAnswer(history, options.json, reportHistory);
}
