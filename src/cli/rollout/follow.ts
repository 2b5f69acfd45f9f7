/** Follows a rollout by polling its status, alone or beside the call that started it. */
import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "#cli/answer.ts";
import type { Connection } from "#cli/connection.ts";
import { isSameImage } from "#kernel/image-reference.ts";
import type {
  RolloutHandlerName,
  RolloutRequest,
  RolloutStatus,
  rolloutHandlers,
} from "#rollout/contract.ts";

/** The program may be unreachable for so long while a rollout is followed: a restart takes seconds. */
const unreachableForMs = 120_000;

export type Poll = {
  everyMs: number;
  signal: AbortSignal;
  /** Gets every status; true ends the polling. */
  isEnd: (status: RolloutStatus) => boolean;
  /** Something worth a line that is no status. */
  log: (text: string) => void;
};

/** Polls until the end and returns the last status. Retries while the program is unreachable, within limits. */
export async function poll(connection: Connection, wanted: Poll): Promise<RolloutStatus> {
  const { everyMs, signal, isEnd, log } = wanted;
  let unreachableSinceMs: number | undefined;
  for (;;) {
    try {
      const status = await connection.rollout("Status", {}, { signal });
      unreachableSinceMs = undefined;
      if (isEnd(status)) return status;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectionError)) throw error;
      unreachableSinceMs ??= performance.now();
      if (performance.now() - unreachableSinceMs > unreachableForMs) throw error;
      log("connection lost, trying again; the rollout continues");
    }
    await delay(everyMs, undefined, { signal });
  }
}

/** A call that answers when the rollout has ended or paused. */
export type StartCall =
  | { handler: "Rollout"; body: RolloutRequest }
  | { handler: "Resume"; body: object }
  | { handler: "RollbackAll"; body: object };

type CallPoll = Omit<Poll, "isEnd"> & {
  /** Gets every status from when the call has taken effect; true ends the wait for the call. */
  isEnd: (status: RolloutStatus) => boolean;
};

type Answer<Handler extends RolloutHandlerName> = ReturnType<
  (typeof rolloutHandlers)[Handler]["output"]["parse"]
>;

/** Calls and polls at once. Throws a refusal, or when unreachable at the start. Returns the answer, or the last status. */
export async function callAndPoll<Wanted extends StartCall>(
  connection: Connection,
  call: Wanted,
  { isEnd, ...wanted }: CallPoll,
): Promise<Answer<Wanted["handler"]> | RolloutStatus> {
  const before = await connection.rollout("Status", {}, { signal: wanted.signal });
  const over = new AbortController();
  const signal = AbortSignal.any([wanted.signal, over.signal]);
  const isOurEnd = (now: RolloutStatus) => hasStarted(call, before, now) && isEnd(now);
  try {
    return await Promise.race([
      connection.rolloutToEnd(call.handler, call.body, signal),
      poll(connection, { ...wanted, signal, isEnd: isOurEnd }),
    ]);
  } finally {
    // Aborts whichever of the two is still running; the rollout itself continues.
    over.abort();
  }
}

/** True if a status belongs to what the call started, and not to an earlier rollout or another call. */
export function hasStarted(call: StartCall, before: RolloutStatus, now: RolloutStatus): boolean {
  if (call.handler === "RollbackAll") return now.state === "rolling_back";
  if (call.handler === "Resume") return before.state === "paused" && now.state !== "paused";
  // The service may have pinned the image to its digest.
  const isOurs = now.image !== null && isSameImage(now.image, call.body.image);
  return now.rollout_id !== before.rollout_id && isOurs;
}

/** True if the rollout has ended or waits for an operator. */
export function isStopped({ state }: Pick<RolloutStatus, "state">): boolean {
  return state !== "in_progress" && state !== "rolling_back";
}

/** The exit code for the state in which a rollout stopped, for example for a CI pipeline. */
export function exitCodeOf(status: RolloutStatus): number {
  if (status.state === "completed" || status.state === "idle") return 0;
  if (status.state === "paused") return 2;
  return status.state === "cancelled" ? 3 : 1;
}
