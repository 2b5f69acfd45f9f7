/** Runs a check once at this location: fills in the secrets, probes, grades. */
import { cleanWords } from "#kernel/log-text.ts";
import type { Reach } from "#kernel/reach.ts";
import {
  catchMisdirected,
  MisdirectedSecret,
  type ReadSecret,
  type Secret,
  withUnset,
} from "#kernel/secrets.ts";
import type { CheckResult, ProbeObservation, RunnableCheck } from "#monitor/contract.ts";
import { isHttp } from "#monitor/kinds/contract.ts";
import { noPhases, toResult } from "#monitor/rules/grade.ts";
import { probeDns } from "./dns.ts";
import { hideSecrets } from "./hide.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, buildText, maxBodyBytes, secretsOf } from "./request.ts";
import { buildStep, probeSteps, type Taken } from "./steps.ts";
import { probeTcp } from "./tcp.ts";
import { probeTls } from "./tls.ts";

/** The API that checks call, and where their secrets are. */
export type Target = { baseUrl: string; readSecret: ReadSecret };

/** `isUnreached`: nothing answered, which may be the fault of this location's own network. */
export type RunOutcome = CheckResult & { isUnreached?: true };

export type RunCheck = (check: RunnableCheck, scheduledAtMs: number) => Promise<RunOutcome>;

const longestReason = 1_000;

type Parts = {
  /** Makes the requests of HTTP, also those of steps. */
  probe: Probe;
  /** Where a check may lead; absent: everywhere but to metadata services. */
  reach?: Reach;
  target: Target;
  location: string;
  nowMs: () => number;
};

export function createRunCheck({ probe, reach, target, location, nowMs }: Parts): RunCheck {
  const request: Probe = (asked, limits) => probe(asked, { ...limits, reach });
  return async (check, scheduledAtMs) => {
    const startedAtMs = nowMs();
    // Read once: one that is replaced meanwhile must be hidden as it was sent.
    const secrets = readSecrets(check, target);
    const readSecret = (name: string) => secrets.get(name);
    const observation = await observe(check, {
      probe: request,
      reach,
      target: { baseUrl: target.baseUrl, readSecret },
    }).catch(refuse);
    const result = toResult(check, { location, scheduledAtMs, startedAtMs }, observation);
    if (result.reason === null) return result;
    const reason = hideSecrets(
      result.reason,
      [...secrets.values()].map(({ value }) => value),
    );
    const isUnreached = hasReachedNothing(observation);
    return {
      ...result,
      // It may quote what a server says, and is shown to people.
      reason: cleanWords(reason, longestReason),
      ...(isUnreached && { isUnreached }),
    };
  };
}

/** The outcome of a run that would have sent a secret to where it does not belong: nothing was sent. */
function refuse(error: unknown): ProbeObservation {
  if (!(error instanceof MisdirectedSecret)) throw error;
  const outcome = { kind: "error", reason: error.message } as const;
  return { durationMs: 0, phases: noPhases, tlsDaysLeft: null, outcome };
}

/** Builds all that the check would send, and sends nothing. Throws a `MisdirectedSecret`. */
export function requireMeantSecrets(check: RunnableCheck, { baseUrl, readSecret }: Target): void {
  const target = { baseUrl, readSecret: withUnset(readSecret) };
  if (check.kind === "tcp") buildText(check, target.readSecret);
  if (isHttp(check)) buildRequest(check, target);
  const { values, sent }: Taken = { values: new Map(), sent: new Set() };
  for (const [step, one] of (check.kind === "steps" ? check.steps : []).entries()) {
    const found = catchMisdirected(() => buildStep(one, { values, sent }, target));
    if (found instanceof MisdirectedSecret) throw Object.assign(found, { step });
    const taken = { value: "x", bindings: [...sent] };
    for (const name of Object.keys(one.extract)) values.set(name, taken);
  }
}

function hasReachedNothing({ outcome }: ProbeObservation): boolean {
  const fault = outcome.kind === "steps" ? outcome.fault : outcome;
  return fault !== null && "isUnreached" in fault && fault.isUnreached === true;
}

async function observe(
  check: RunnableCheck,
  { probe, reach, target }: Pick<Parts, "probe" | "target"> & { reach: Reach | undefined },
): Promise<ProbeObservation> {
  const timeoutMs = timeLimitMs(check);
  switch (check.kind) {
    case "tcp":
      return probeTcp(
        { ...check, send: buildText(check, target.readSecret) },
        { timeoutMs, reach },
      );
    case "dns":
      return probeDns(check, { timeoutMs, reach });
    case "tls":
      return probeTls(check, { timeoutMs, reach });
    case "steps":
      return probeSteps(check, { probe, target, timeoutMs });
    default:
      return probe(buildRequest(check, target), { timeoutMs, maxBodyBytes });
  }
}

/** Of the check's own secrets, and of those that our own API may quote whatever was sent to it. */
function readSecrets(check: RunnableCheck, { readSecret }: Target): Map<string, Secret> {
  const names = new Set([...secretsOf(check), "KEY", "ROOT_KEY"]);
  const pairs = [...names].map((name) => [name, readSecret(name)] as const);
  return new Map(pairs.filter((pair): pair is [string, Secret] => pair[1] !== undefined));
}

/**
 * The timeout of a run: longer than the failed threshold, so that the result has the duration of a slow
 * answer, but short enough to end before the next run is due.
 */
export function timeLimitMs(
  check: Pick<RunnableCheck, "failedAboveMs" | "frequencySeconds">,
): number {
  const { failedAboveMs, frequencySeconds } = check;
  return Math.min(failedAboveMs + Math.min(failedAboveMs, 2_000), frequencySeconds * 900);
}
