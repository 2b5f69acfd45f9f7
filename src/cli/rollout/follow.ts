/** Follows a rollout by asking for its status, alone or beside the call that set it going. */
import { setTimeout as delay } from "node:timers/promises";
import { type Connection, ConnectionError } from "#cli/connection.ts";
import type {
  RolloutHandlerName,
  RolloutRequest,
  RolloutStatus,
  rolloutHandlers,
} from "#rollout/contract.ts";

/** How long the program may be away while a rollout is followed: a restart takes seconds. */
const awayForMs = 120_000;

export type Poll = {
  everyMs: number;
  signal: AbortSignal;
  /** Sees every status; true ends the polling. */
  isEnd: (status: RolloutStatus) => boolean;
  /** Something worth a line that is no status. */
  note: (text: string) => void;
};

/** Asks until the end, which it answers. A program that is away is waited for, within limits. */
export async function poll(connection: Connection, wanted: Poll): Promise<RolloutStatus> {
  const { everyMs, signal, isEnd, note } = wanted;
  let awaySinceMs: number | undefined;
  for (;;) {
    try {
      const status = await connection.rollout("Status", {}, { signal });
      awaySinceMs = undefined;
      if (isEnd(status)) return status;
    } catch (error) {
      if (signal.aborted || !(error instanceof ConnectionError)) throw error;
      awaySinceMs ??= performance.now();
      if (performance.now() - awaySinceMs > awayForMs) throw error;
      note("connection lost, trying again; the rollout goes on");
    }
    await delay(everyMs, undefined, { signal });
  }
}

/** A call that answers when the rollout stands still. */
export type Begin =
  | { handler: "Rollout"; body: RolloutRequest }
  | { handler: "Resume"; body: object }
  | { handler: "RollbackAll"; body: object };

type Beside = Omit<Poll, "isEnd"> & {
  /** Sees every status from when the call has taken effect; true ends the waiting for the call. */
  isEnd: (status: RolloutStatus) => boolean;
};

type Answer<Handler extends RolloutHandlerName> = ReturnType<
  (typeof rolloutHandlers)[Handler]["output"]["parse"]
>;

/**
 * Makes the call and polls beside it: a refusal comes back at once, and the answer is the call's own,
 * or the status with which the polling ended first. Throws at once when nobody is there to begin with.
 */
export async function callBeside<Wanted extends Begin>(
  connection: Connection,
  begin: Wanted,
  { isEnd, ...wanted }: Beside,
): Promise<Answer<Wanted["handler"]> | RolloutStatus> {
  const before = await connection.rollout("Status", {}, { signal: wanted.signal });
  const over = new AbortController();
  const signal = AbortSignal.any([wanted.signal, over.signal]);
  const isOurEnd = (now: RolloutStatus) => hasBegun(begin, before, now) && isEnd(now);
  try {
    return await Promise.race([
      connection.rolloutToEnd(begin.handler, begin.body, signal),
      poll(connection, { ...wanted, signal, isEnd: isOurEnd }),
    ]);
  } finally {
    // Of the two, the one that still runs is aborted; the rollout itself goes on.
    over.abort();
  }
}

/** Whether a status is of what the call began, and not of what was there before or is another's. */
export function hasBegun(begin: Begin, before: RolloutStatus, now: RolloutStatus): boolean {
  if (begin.handler === "RollbackAll") return now.state === "rolling_back";
  if (begin.handler === "Resume") return before.state === "paused" && now.state !== "paused";
  return now.rollout_id !== before.rollout_id && isSameImage(now.image, begin.body.image);
}

/** The service may have pinned the image to its digest. */
function isSameImage(image: string | null, asked: string): boolean {
  return image === asked || image?.startsWith(`${asked}@`) === true;
}

/** Whether nothing more happens by itself. */
export function isStill({ state }: Pick<RolloutStatus, "state">): boolean {
  return state !== "in_progress" && state !== "rolling_back";
}

/** What a rollout's end means for whoever waits for it, for example a CI pipeline. */
export function exitCodeOf(status: RolloutStatus): number {
  if (status.state === "completed" || status.state === "idle") return 0;
  if (status.state === "paused") return 2;
  return status.state === "cancelled" ? 3 : 1;
}
