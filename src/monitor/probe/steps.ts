/** Makes the requests of a check with steps one after the other, each on a new connection, without cookies. */
import { type Binding, MisdirectedSecret, type ReadSecret, type Secret } from "#kernel/secrets.ts";
import type { Cause, Phases, ProbeObservation, RunnableOf } from "#monitor/contract.ts";
import { phaseNames } from "#monitor/contract.ts";
import type { Extraction, Step } from "#monitor/kinds/contract.ts";
import { extract, faultOfResponse, hintAt, type Response } from "#monitor/rules/assertions.ts";
import { noPhases } from "#monitor/rules/grade.ts";
import { hideSecrets } from "./hide.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, maxBodyBytes, type ProbeRequest } from "./request.ts";

type Parts = {
  probe: Probe;
  target: { baseUrl: string; readSecret: ReadSecret };
  /** Over all steps. */
  timeoutMs: number;
};

type Fault = { cause: Cause; reason: string; isUnreached?: true };

/** Values that the steps so far have taken, and the secrets that they have sent: an answer may repeat any of them. */
export type Taken = { values: Map<string, Secret>; sent: Set<Binding> };

type Progress = Taken & {
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
    sent: new Set(),
    untaken: [],
    seen: { phases: noPhases, tlsDaysLeft: null },
    status: null,
  };
  let fault: Fault | null = null;
  for (const [index, step] of steps.entries()) {
    fault = await takeStep(step, progress, { ...parts, signal }).catch(faultOfSecret);
    if (fault === null) continue;
    fault = { ...fault, reason: `${titleOf(step, index)}: ${fault.reason}` };
    break;
  }
  const { values, untaken, seen, status } = progress;
  // They may be tokens. Shorter ones are no secrets, and would tear holes into every reason.
  const taken = [...values.values()].map(({ value }) => value);
  const hidden = [...taken, ...untaken].filter(({ length }) => length >= shortestSecret);
  if (fault !== null) fault = { ...fault, reason: hideSecrets(fault.reason, hidden) };
  const outcome = { kind: "steps", status, fault } as const;
  return { durationMs: performance.now() - startedMs, ...seen, outcome };
}

const shortestSecret = 6;

function faultOfSecret(fault: unknown): Fault {
  if (fault instanceof MisdirectedSecret) return error(fault.message);
  throw fault;
}

function titleOf({ name }: Step, index: number): string {
  return `step ${index + 1}${name === null ? "" : ` (${name})`}`;
}

async function takeStep(
  step: Step,
  progress: Progress,
  { probe, target, timeoutMs, signal }: Parts & { signal: AbortSignal },
): Promise<Fault | null> {
  const request = buildStep(step, progress, target);
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
  if (wrong === null) return takeValues(step, outcome, progress);
  const untaken = Object.values(step.extract).map((from) => extract(from, outcome));
  progress.untaken = untaken.flatMap((value) => (typeof value === "object" ? [] : [String(value)]));
  return { cause: "assertion", reason: wrong };
}

/** The request of the next step. What it sends is remembered as sent. */
export function buildStep(step: Step, { values, sent }: Taken, target: Parts["target"]) {
  const readSecret = (name: string) => {
    const secret = values.get(name) ?? target.readSecret(name);
    for (const binding of secret?.bindings ?? []) sent.add(binding);
    return secret;
  };
  return buildRequest(step, { baseUrl: target.baseUrl, readSecret });
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

function takeValues(step: Step, response: Response, { values, sent }: Taken): Fault | null {
  for (const [name, from] of Object.entries(step.extract)) {
    const value = extract(from, response);
    const fault = faultOfValue(value, from);
    if (fault !== null) {
      const hint = from.source === "json" ? hintAt(response) : "";
      return { cause: "assertion", reason: `${name} is not there: ${fault}${hint}` };
    }
    values.set(name, { value: String(value), bindings: [...sent] });
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
