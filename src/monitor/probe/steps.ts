/** Makes the requests of a check with steps one after the other, each on a new connection, without cookies. */
import type { Cause, Phases, ProbeObservation, RunnableOf } from "#monitor/contract.ts";
import { phaseNames } from "#monitor/contract.ts";
import type { Extraction, Step } from "#monitor/kinds/contract.ts";
import { extract, faultOfResponse, hintAt, type Response } from "#monitor/rules/assertions.ts";
import { noPhases } from "#monitor/rules/grade.ts";
import { hideSecrets } from "./hide.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, maxBodyBytes, type ProbeRequest, type ReadSecret } from "./request.ts";

type Parts = {
  probe: Probe;
  target: { baseUrl: string; readSecret: ReadSecret };
  /** Over all steps. */
  timeoutMs: number;
};

type Fault = { cause: Cause; reason: string; isUnreached?: true };

type Progress = {
  values: Map<string, string>;
  /** What a step would have taken had it been good: its reason may quote that. */
  untaken: string[];
  seen: Pick<ProbeObservation, "phases" | "tlsDaysLeft">;
  status: number | null;
};

/** Never throws. Ends at the first step that is not good, which the reason names. */
export async function probeSteps(
  { steps }: Pick<RunnableOf<"steps">, "steps">,
  parts: Parts,
): Promise<ProbeObservation> {
  const startedMs = performance.now();
  const signal = AbortSignal.timeout(parts.timeoutMs);
  const progress: Progress = {
    values: new Map(),
    untaken: [],
    seen: { phases: noPhases, tlsDaysLeft: null },
    status: null,
  };
  let fault: Fault | null = null;
  for (const [index, step] of steps.entries()) {
    fault = await takeStep(step, progress, { ...parts, signal });
    if (fault === null) continue;
    fault = { ...fault, reason: `${titleOf(step, index)}: ${fault.reason}` };
    break;
  }
  const { values, untaken, seen, status } = progress;
  // They may be tokens. Shorter ones are no secrets, and would tear holes into every reason.
  const hidden = [...values.values(), ...untaken].filter(({ length }) => length >= shortestSecret);
  if (fault !== null) fault = { ...fault, reason: hideSecrets(fault.reason, hidden) };
  const outcome = { kind: "steps", status, fault } as const;
  return { durationMs: performance.now() - startedMs, ...seen, outcome };
}

const shortestSecret = 6;

function titleOf({ name }: Step, index: number): string {
  return `step ${index + 1}${name === null ? "" : ` (${name})`}`;
}

async function takeStep(
  step: Step,
  progress: Progress,
  { probe, target, timeoutMs, signal }: Parts & { signal: AbortSignal },
): Promise<Fault | null> {
  const { values } = progress;
  const readSecret = (name: string) => values.get(name) ?? target.readSecret(name);
  const request = buildRequest(step, { baseUrl: target.baseUrl, readSecret });
  const unfit = findUnfit(request, step);
  if (unfit !== null) return error(unfit);
  const observation = await probe(request, { timeoutMs, maxBodyBytes, signal });
  progress.seen = add(progress.seen, observation);
  const { outcome } = observation;
  if (outcome.kind === "error") {
    return { ...error(outcome.reason), ...(outcome.isUnreached && { isUnreached: true }) };
  }
  if (outcome.kind !== "response") return null;
  progress.status = outcome.status;
  const wrong = faultOfResponse(step.assertions, outcome);
  if (wrong === null) return takeValues(step, outcome, values);
  const untaken = Object.values(step.extract).map((from) => extract(from, outcome));
  progress.untaken = untaken.flatMap((value) => (typeof value === "object" ? [] : [String(value)]));
  return { cause: "assertion", reason: wrong };
}

const error = (reason: string): Fault => ({ cause: "error", reason });

/** What a value from an answer must not do: null: it does not. */
function findUnfit({ headers, url }: ProbeRequest, { path }: Step): string | null {
  // It could end the header and begin another.
  const header = Object.keys(headers).find(
    (name) => !/^[\t\x20-\x7e\x80-\xff]*$/.test(headers[name] ?? ""),
  );
  if (header !== undefined)
    return `the header ${header} would have characters that no header may have`;
  // It would lead to the address of another resource.
  const leadsUp = (address: string) => /\/\.{1,2}(?:[/?#]|$)/.test(address);
  return leadsUp(url) && !leadsUp(path) ? "the address would have a part that is only dots" : null;
}

function takeValues(step: Step, response: Response, values: Map<string, string>): Fault | null {
  for (const [name, from] of Object.entries(step.extract)) {
    const value = extract(from, response);
    const fault = faultOfValue(value, from);
    if (fault !== null) {
      const hint = from.source === "json" ? hintAt(response) : "";
      return { cause: "assertion", reason: `${name} is not there: ${fault}${hint}` };
    }
    values.set(name, String(value));
  }
  return null;
}

/** What is longer is no id or token, and would be sent again and again. */
const longestValue = 4_096;

function faultOfValue(value: unknown, from: Extraction): string | null {
  const where = from.source === "json" ? from.path : `header ${from.name}`;
  if (value === undefined || value === null || value === "") return `${where} is absent`;
  if (typeof value === "object") return `${where} is not a text, number, true or false`;
  return String(value).length > longestValue
    ? `${where} is longer than ${longestValue} characters`
    : null;
}

/** The phases of all steps; of several certificates the fewest days. */
function add(
  sum: Progress["seen"],
  { phases, tlsDaysLeft: days }: ProbeObservation,
): Progress["seen"] {
  const added = phaseNames.map((name) => [name, addMs(sum.phases[name], phases[name])]);
  const both = [sum.tlsDaysLeft, days].filter((one) => one !== null);
  return {
    phases: Object.fromEntries(added) as Phases,
    tlsDaysLeft: both.length === 0 ? null : Math.min(...both),
  };
}

function addMs(sum: number | null, ms: number | null): number | null {
  return sum === null ? ms : sum + (ms ?? 0);
}
