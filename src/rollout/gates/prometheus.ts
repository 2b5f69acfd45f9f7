/** The gate that measures: an instant query at the fleet's Prometheus, some times in a row. */
import { cleanWords } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { formatDuration, toIso } from "#kernel/time.ts";
import {
  compare,
  type GateOf,
  type GateProblemCode,
  type GateState,
  type GateVerdict,
  type NamedGate,
  type Reading,
} from "./contract.ts";
import type { Evaluation, GateKind, PrometheusAnswer, Sample } from "./kind.ts";
import { lastReading, withReading } from "./readings.ts";

type PrometheusGate = NamedGate & GateOf<"prometheus">;

export const prometheusGate: GateKind<PrometheusGate> = {
  reads: "paced",
  isKept: true,
  firstMs: ({ interval_seconds }) => interval_seconds * 1_000,
  pollMs: ({ interval_seconds }) => interval_seconds * 1_000,
  open: () => ({}),
  read: async (gate, { queryPrometheus }) => {
    const graded = gradeAnswer(gate, await queryPrometheus(gate.query));
    return { reading: { at: toIso(Date.now()), ...graded } };
  },
  withFound: withReading,
  evaluate,
  refuse: ({ name }, { hasPrometheus }) => {
    if (hasPrometheus) return undefined;
    const detail = `the gate ${name} (prometheus) needs the setting rollout.prometheus_url of this fleet: set it, or give gates without it`;
    return new ProblemError<GateProblemCode>({ status: 409, code: "gate_off", detail });
  },
  describe: ({ name, query, pass, fail, count, interval_seconds, timeout_seconds }) => {
    const terms = [
      ...(pass === undefined ? [] : [`passes if ${pass}`]),
      ...(fail === undefined ? [] : [`fails if ${fail}`]),
    ].join(", ");
    const every = formatDuration(interval_seconds * 1_000);
    return `${name}: ${query} ${terms}; ${count} readings, one each ${every}, within ${formatDuration(timeout_seconds * 1_000)}`;
  },
};

function evaluate({ count, fail_limit }: PrometheusGate, state: GateState): Evaluation {
  const last = lastReading(state);
  const { pass, fail } = state.count;
  if (fail >= fail_limit) {
    const failed = state.readings.findLast(({ verdict }) => verdict === "fail");
    const of = fail === 1 ? "a reading" : `${fail} readings`;
    return { verdict: "fail", reason: `${of} failed, the last with ${failed?.value}` };
  }
  const isMet = pass >= count;
  if (isMet && last?.verdict === "pass")
    return { verdict: "pass", reason: `${pass} readings passed` };
  const reason = `${isMet ? pass : `${pass} of ${count}`} readings passed${last === undefined ? "" : `, the last was ${last.value}`}`;
  const verdict = last?.verdict === "inconclusive" ? "inconclusive" : "pending";
  return { verdict, reason, ...(isMet && { isDoubtful: true as const }) };
}

/** Grades one answer. Any series that fails fails it; all have to pass. An answer that is none never passes. */
export function gradeAnswer(
  gate: Pick<PrometheusGate, "pass" | "fail" | "no_data">,
  answer: PrometheusAnswer,
): Pick<Reading, "value" | "verdict"> {
  if ("error" in answer) {
    const verdict = gate.no_data === "fail" ? "fail" : "inconclusive";
    return { value: cleanWords(answer.error, longestValue), verdict };
  }
  const { samples } = answer;
  if (samples.length === 0) return { value: "no data", verdict: gate.no_data };
  const graded = samples.map((sample) => ({ sample, verdict: gradeSample(gate, sample) }));
  for (const verdict of ["fail", "inconclusive"] as const) {
    const found = graded.find((one) => one.verdict === verdict);
    if (found !== undefined) return { value: describeSample(found.sample), verdict };
  }
  const [first] = samples;
  const more = samples.length === 1 ? "" : ` and ${samples.length - 1} more series`;
  return { value: `${first === undefined ? "" : describeSample(first)}${more}`, verdict: "pass" };
}

function gradeSample(
  { pass, fail, no_data }: Pick<PrometheusGate, "pass" | "fail" | "no_data">,
  { value }: Sample,
): GateVerdict {
  if (Number.isNaN(value)) return no_data;
  if (fail !== undefined && compare(value, fail)) return "fail";
  if (pass === undefined) return "pass";
  if (compare(value, pass)) return "pass";
  return fail === undefined ? "fail" : "inconclusive";
}

const longestValue = 200;

function describeSample({ value, labels }: Sample): string {
  return cleanWords(`${value}${labels}`, longestValue);
}
