/** The gate that compares the sentinels on the new image with those on the old one, at the same time. */
import { ProblemError } from "#kernel/problem.ts";
import { cleanText } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import { warmupMinutes } from "#rollout/comparison/defaults.ts";
import type { Comparison } from "./comparison-contract.ts";
import type { GateOf, GateProblemCode, GateState, GateVerdict, NamedGate } from "./contract.ts";
import type { Evaluation, Found, GateKind } from "./kind.ts";
import { lastReading, withReading } from "./readings.ts";

type CompareGate = NamedGate & GateOf<"compare">;

const minuteMs = 60_000;
/** The last minute has to be over, and recorded. */
const recordedMs = 2 * minuteMs;
const waitMs = 4 * 60 * minuteMs;
const longestReason = 300;

export const compareGate: GateKind<CompareGate> = {
  reads: "paced",
  // Proven is proven, and only a wave's own minutes are compared.
  isKept: false,
  firstMs: () => (warmupMinutes + 1) * minuteMs,
  pollMs: () => minuteMs,
  open: () => ({}),
  read: async (_, { compareImages }, { compared, ...facts }) => {
    if (compared === undefined) return null;
    const { comparison, reason, ledger } = await compareImages(facts, compared);
    const value = cleanText(reason, longestReason);
    const reading = { at: toIso(Date.now()), value, verdict: verdictOf(comparison) };
    return { reading, comparison, ledger };
  },
  withFound: (state: GateState, found: Found): GateState => {
    const comparison = "comparison" in found ? found.comparison : undefined;
    return { ...withReading(state, found), ...(comparison !== undefined && { comparison }) };
  },
  evaluate,
  refuse: ({ name }, { hasCounters }) => {
    if (hasCounters) return undefined;
    const detail = `the gate ${name} (compare) needs the counters of this fleet, an hour before the rollout: set fleet.counters.source (prometheus, with rollout.prometheus_url, where the driver reads none), or give gates without it`;
    return new ProblemError<GateProblemCode>({ status: 409, code: "gate_off", detail });
  },
  describe: ({ name, minutes, when_inconclusive }) =>
    `${name}: the new image is not worse than the old one in ${minutes} minutes; if nothing is proven: ${when_inconclusive}`,
};

export function compareTimeoutMs({ minutes, when_inconclusive }: GateOf<"compare">): number {
  const plannedMs = (warmupMinutes + minutes) * minuteMs + recordedMs;
  return plannedMs + (when_inconclusive === "wait" ? waitMs : 0);
}

function verdictOf({ verdict, may_go_early }: Comparison): GateVerdict {
  if (verdict === "worse") return "fail";
  return may_go_early ? "pass" : "inconclusive";
}

/** A fix passes at the end of the time, whatever is not proven beside it. */
function evaluate(gate: CompareGate, state: GateState, nowMs: number): Evaluation {
  const { when_inconclusive: otherwise } = gate;
  const { comparison, until } = state;
  const reason = lastReading(state)?.value ?? "not compared yet";
  const verdict = comparison === undefined ? "pending" : verdictOf(comparison);
  if (verdict === "fail" || verdict === "pass") return { verdict, reason };
  const endMs = Date.parse(until) - (otherwise === "wait" ? waitMs : 0);
  if (nowMs < endMs) return { verdict, reason };
  if (comparison?.verdict === "better") return { verdict: "pass", reason };
  if (otherwise === "continue") return { verdict: "pass", reason: `nothing is proven: ${reason}` };
  return { verdict, reason };
}
