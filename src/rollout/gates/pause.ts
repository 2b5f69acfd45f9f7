/** The gate that waits for a person or a pipeline to confirm it. */
import { formatDuration } from "#kernel/time.ts";
import type { GateOf, GateState, NamedGate } from "./contract.ts";
import type { Evaluation, GateKind } from "./kind.ts";

type PauseGate = NamedGate & GateOf<"pause">;

export const pauseGate: GateKind<PauseGate> = {
  reads: "never",
  isKept: false,
  firstMs: () => 0,
  pollMs: () => Number.POSITIVE_INFINITY,
  open: () => ({}),
  read: async () => null,
  withFound: (state) => state,
  evaluate,
  refuse: () => undefined,
  describe: ({ name, message, timeout_seconds, on_timeout }) => {
    const about = message === undefined ? "" : ` (${message})`;
    return `${name}: somebody confirms it${about} within ${formatDuration(timeout_seconds * 1_000)}, else ${on_timeout}`;
  },
};

function evaluate(
  { message, on_timeout }: PauseGate,
  { confirmed, until }: GateState,
  nowMs: number,
): Evaluation {
  if (confirmed !== undefined) {
    return { verdict: "pass", reason: `confirmed by ${confirmed.by}` };
  }
  const about = message === undefined ? "" : `: ${message}`;
  if (nowMs < Date.parse(until)) {
    return { verdict: "pending", reason: `waits for a confirmation${about}`, asksPeople: true };
  }
  const reason = `nobody has confirmed it in time${about}`;
  if (on_timeout === "continue") return { verdict: "pass", reason };
  if (on_timeout === "rollback") return { verdict: "fail", reason, rollsBack: true };
  return { verdict: "pending", reason };
}
