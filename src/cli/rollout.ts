/** The commands that start, follow and steer a rollout. Each answers its exit code. */
import type {
  RollbackResult,
  RolloutPlan,
  RolloutRequest,
  RolloutStatus,
} from "#rollout/contract.ts";
import { type Connection, ConnectionError, connect } from "./connection.ts";
import type { GlobalOptions } from "./options.ts";
import { createProgress, type Progress } from "./progress.ts";
import { reportHistory, reportPlan, reportRollback, reportStatus } from "./report.ts";
import { exitCodeOf, isStill, watchRollout } from "./watch.ts";

export type StartOptions = GlobalOptions & { waves?: number[]; wait?: boolean };

/** The shell's own code for a program that Ctrl-C ended. */
const detachedCode = 130;

export async function startRollout(image: string, options: StartOptions): Promise<number> {
  const request: RolloutRequest = {
    image,
    ...(options.waves !== undefined && { wave_percentages: options.waves }),
  };
  const connection = connect(options);
  const { waves } = await connection.rollout("Plan", request);
  const begin = (signal: AbortSignal) =>
    connection.rollout("Rollout", request, { blocks: true, signal });
  return follow(connection, { ...options, waves_: waves, begin });
}

export async function resumeRollout(options: StartOptions): Promise<number> {
  const connection = connect(options);
  const begin = (signal: AbortSignal) => connection.rollout("Resume", {}, { blocks: true, signal });
  return follow(connection, { ...options, begin });
}

export async function watch(options: GlobalOptions): Promise<number> {
  return follow(connect(options), { ...options, wait: true });
}

type Follow = GlobalOptions & {
  wait?: boolean;
  waves_?: RolloutPlan["waves"];
  /** The call that blocks until the rollout stands still; absent: just watch. */
  begin?: (signal: AbortSignal) => Promise<RolloutStatus>;
};

/**
 * Makes the blocking call and watches beside it: a refusal comes back at once, and a connection
 * that breaks costs nothing, because the watch goes on.
 */
async function follow(connection: Connection, options: Follow): Promise<number> {
  const progress = createProgress(process.stdout, { json: options.json, waves: options.waves_ });
  const { signal, release } = detachOnInterrupt();
  try {
    const begun = options.begin?.(signal).catch(toleratingLoss);
    if (options.wait !== true) return await untilBegun(connection, options, { begun, signal });
    const first = await Promise.race([begun, hasBegun(connection, signal, options)]);
    const status =
      first !== undefined && isStill(first)
        ? first
        : await watchRollout(connection, progress, signal);
    progress.show(status);
    progress.stop();
    if (!options.json) print(reportStatus(status));
    return exitCodeOf(status);
  } catch (error) {
    if (!signal.aborted) throw error;
    progress.stop();
    process.stderr.write("\nDetached; the rollout goes on. Come back: npx vedette rollout watch\n");
    return detachedCode;
  } finally {
    progress.stop();
    release();
  }
}

/** A lost connection does not end a rollout: undefined, and the watch tells how it goes. */
function toleratingLoss(error: unknown): undefined {
  if (error instanceof ConnectionError) return undefined;
  throw error;
}

const beganWithinMs = 10_000;

/** Resolves once the rollout is at work, or after a while: then the watch finds out. */
async function hasBegun(
  connection: Connection,
  signal: AbortSignal,
  options: Follow,
): Promise<RolloutStatus | undefined> {
  if (options.begin === undefined) return undefined;
  const deadline = Date.now() + beganWithinMs;
  while (Date.now() < deadline) {
    const status = await connection.rollout("Status", {}, { signal }).catch(toleratingLoss);
    if (status !== undefined && !isStill(status)) return status;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return undefined;
}

async function untilBegun(
  connection: Connection,
  options: Follow,
  call: { begun: Promise<RolloutStatus | undefined> | undefined; signal: AbortSignal },
): Promise<number> {
  const { begun, signal } = call;
  const status = await Promise.race([begun, hasBegun(connection, signal, options)]);
  if (status !== undefined) {
    print(options.json ? JSON.stringify(status) : reportStatus(status));
    if (!isStill(status) && !options.json) print("Follow it: npx vedette rollout watch");
  }
  return 0;
}

/** `release` also lets go of a call that still blocks: what it started goes on without us. */
function detachOnInterrupt(): { signal: AbortSignal; release: () => void } {
  const controller = new AbortController();
  const detach = () => controller.abort();
  process.once("SIGINT", detach);
  const release = () => {
    process.off("SIGINT", detach);
    controller.abort();
  };
  return { signal: controller.signal, release };
}

export async function showStatus(options: GlobalOptions): Promise<number> {
  const status = await connect(options).rollout("Status");
  print(options.json ? JSON.stringify(status) : reportStatus(status));
  return 0;
}

export async function showPlan(image: string, options: StartOptions): Promise<number> {
  const request = {
    image,
    ...(options.waves !== undefined && { wave_percentages: options.waves }),
  };
  const plan = await connect(options).rollout("Plan", request);
  print(options.json ? JSON.stringify(plan) : reportPlan(plan));
  return 0;
}

export async function cancelRollout(options: GlobalOptions): Promise<number> {
  const status = await connect(options).rollout("Cancel");
  print(options.json ? JSON.stringify(status) : reportStatus(status));
  return 0;
}

/** Exit code 0 when everything was reverted, 2 when something was not. */
export async function rollBack(options: GlobalOptions): Promise<number> {
  const connection = connect(options);
  const progress = createProgress(process.stderr, { json: false });
  const { signal, release } = detachOnInterrupt();
  try {
    const result = await rollBackWatched(connection, progress, signal);
    print(options.json ? JSON.stringify(result) : reportRollback(result));
    return result.not_reverted.length === 0 ? 0 : 2;
  } catch (error) {
    if (!signal.aborted) throw error;
    process.stderr.write(
      "\nDetached; the rollback goes on. Come back: npx vedette rollout watch\n",
    );
    return detachedCode;
  } finally {
    release();
  }
}

async function rollBackWatched(
  connection: Connection,
  progress: Progress,
  signal: AbortSignal,
): Promise<RollbackResult> {
  const watching = new AbortController();
  const both = AbortSignal.any([signal, watching.signal]);
  const watched = watchRollout(connection, progress, both).catch(() => undefined);
  try {
    return await connection.rollout("RollbackAll", {}, { blocks: true, signal });
  } finally {
    watching.abort();
    await watched;
  }
}

export async function showHistory(options: GlobalOptions & { limit: number }): Promise<number> {
  const history = await connect(options).rollout("History", { limit: options.limit });
  print(options.json ? JSON.stringify(history) : reportHistory(history));
  return 0;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
