/** Runs a check once at this location: fills in the secrets, probes, grades. */
import { cleanWords } from "#kernel/log-text.ts";
import type { Reach } from "#kernel/reach.ts";
import type { CheckResult, ProbeObservation, RunnableCheck } from "#monitor/contract.ts";
import { toResult } from "#monitor/rules/grade.ts";
import { probeDns } from "./dns.ts";
import { hideSecrets } from "./hide.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, fillSecrets, maxBodyBytes, type ReadSecret, secretsOf } from "./request.ts";
import { probeSteps } from "./steps.ts";
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
    });
    const result = toResult(check, { location, scheduledAtMs, startedAtMs }, observation);
    if (result.reason === null) return result;
    const reason = hideSecrets(result.reason, [...secrets.values()]);
    const isUnreached = hasReachedNothing(observation);
    return {
      ...result,
      // It may quote what a server says, and is shown to people.
      reason: cleanWords(reason, longestReason),
      ...(isUnreached && { isUnreached }),
    };
  };
}

function hasReachedNothing({ outcome }: ProbeObservation): boolean {
  const fault = outcome.kind === "steps" ? outcome.fault : outcome;
  return fault !== null && "isUnreached" in fault && fault.isUnreached === true;
}

function observe(
  check: RunnableCheck,
  { probe, reach, target }: Pick<Parts, "probe" | "target"> & { reach: Reach | undefined },
): Promise<ProbeObservation> {
  const timeoutMs = timeLimitMs(check);
  switch (check.kind) {
    case "tcp": {
      const send = check.send === null ? null : fillSecrets(check.send, target.readSecret);
      return probeTcp({ ...check, send }, { timeoutMs, reach });
    }
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
function readSecrets(check: RunnableCheck, { readSecret }: Target): Map<string, string> {
  const names = new Set([...secretsOf(check), "KEY", "ROOT_KEY"]);
  const pairs = [...names].map((name): [string, string] => [name, readSecret(name) ?? ""]);
  return new Map(pairs.filter(([, value]) => value !== ""));
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
