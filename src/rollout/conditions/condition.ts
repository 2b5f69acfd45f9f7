/** The question that each condition of a rollout answers: may the next thing start? */
import type { PauseCause } from "#rollout/contract.ts";
import type { WaitReason } from "#rollout/policy-contract.ts";
import type { RolloutHead } from "#rollout/state.ts";
import type { Openings } from "#rollout/windows/calendar.ts";
import type { Next } from "./next.ts";

export type Facts = {
  head: RolloutHead;
  /** The step that would start. */
  next: Next;
  /** The index of the wave that has ended, or whose deploys are in progress; undefined: none has begun. */
  wave: number | undefined;
  nowMs: number;
  /** "unread": they could not be read. "stale": they were read too long ago, or have changed since. */
  windows: Openings | "unread" | "stale";
  /** Unhealthy sentinels, `ofNext` of which are next. null: not asked, or not listed. "stale": as of the windows. */
  fleet: { unhealthy: number; ofNext: number } | null | "stale";
};

export type Wait = {
  action: "wait";
  waitingFor: WaitReason;
  reason: string;
  /** The time at which it ends by itself; absent: that depends on something else. */
  untilMs?: number;
  /** The delay until it is polled again, because something could not be read. Nobody is notified of such a wait. */
  retryMs?: number;
  /** True if it waits for the start that the request asks for. */
  isForStart?: true;
  /** True if somebody has to confirm a gate, and so is notified. */
  asksPeople?: true;
};

export type Stop = {
  action: "stop";
  cause: PauseCause;
  reason?: string;
  /** True if the image is the likely reason, so that a rollback helps. */
  isOfImage: boolean;
  /** True if a rollback follows, whatever `on_failure` says. */
  rollsBack?: true;
};

export const start = { action: "start" } as const;
/** The facts are outdated: they are read again at once. */
export const look = { action: "look" } as const;

export type Verdict = typeof start | typeof look | Wait | Stop;

/** One condition, in a file of its own. It answers `start` to what is none of its concern. */
export type Condition = (facts: Facts) => Verdict;
