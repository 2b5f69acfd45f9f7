/** Runs a check once at this location: fills in the secrets, probes, grades. */
import { cleanWords } from "#kernel/log.ts";
import type { Reach } from "#kernel/reach.ts";
import { hideSecrets, MisdirectedSecret, type Secret } from "#kernel/secrets.ts";
import type { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { type Hide, hideFrom, type Response } from "#monitor/kinds/assertions.ts";
import { kindOf, type ProbeObservation } from "#monitor/kinds/contract.ts";
import type { Run, Target } from "#monitor/kinds/kind.ts";
import { noPhases, type Observation } from "#monitor/kinds/observe.ts";
import type { Requester } from "#monitor/kinds/request.ts";
import { toResult } from "#monitor/rules/grade.ts";
import { secretsOf } from "./secrets.ts";

export type { Target };

/** `isUnreached`: nothing answered, which may be the fault of this location's own network. */
export type RunOutcome = CheckResult & { isUnreached?: true };

export type RunCheck = (check: RunnableCheck, scheduledAtMs: number) => Promise<RunOutcome>;

const longestReason = 1_000;

type Parts = {
  /** Makes the requests of HTTP, also those of steps. */
  probe: Requester;
  /** The networks that a check may reach; absent: all but metadata services. */
  reach?: Reach;
  target: Target;
  location: string;
  nowMs: () => number;
};

export function createRunCheck({ probe, reach, target, location, nowMs }: Parts): RunCheck {
  const request: Requester = (asked, limits) => probe(asked, { ...limits, reach });
  return async (check, scheduledAtMs) => {
    const startedAtMs = nowMs();
    // Read once: one that is replaced meanwhile must be hidden as it was sent.
    const secrets = readSecrets(check, target);
    const readSecret = (name: string) => secrets.get(name);
    const values = [...secrets.values()].map(({ value }) => value);
    const hide: Hide = (text, expected = "") =>
      hideSecrets(
        text,
        values.filter((value) => !expected.includes(value)),
      );
    const observation = await observe(check, {
      ...{ timeoutMs: timeLimitMs(check), reach, hide },
      request: async (asked, limits) => hideIn(await request(asked, limits), hide),
      target: { baseUrl: target.baseUrl, readSecret },
    });
    const result = toResult(check, { location, scheduledAtMs, startedAtMs }, observation);
    if (result.reason === null) return result;
    const { isUnreached } = observation.outcome as { isUnreached?: true };
    return {
      ...result,
      // It may quote what a server says, and is shown to people.
      reason: cleanWords(hide(result.reason), longestReason),
      ...(isUnreached && { isUnreached }),
    };
  };
}

function hideIn({ outcome, ...seen }: Observation<Response>, hide: Hide): Observation<Response> {
  return { ...seen, outcome: outcome.kind === "response" ? hideFrom(outcome, hide) : outcome };
}

/** Probes; a run that would send a secret to where it does not belong sends nothing and fails. */
async function observe(check: RunnableCheck, run: Run): Promise<ProbeObservation> {
  try {
    return await kindOf(check).probe(check, run);
  } catch (error) {
    if (!(error instanceof MisdirectedSecret)) throw error;
    const outcome = { kind: "error", reason: error.message } as const;
    return { durationMs: 0, phases: noPhases, tlsDaysLeft: null, outcome };
  }
}

/** Reads the check's own secrets, and those that our own API may quote whatever was sent to it. */
function readSecrets(check: RunnableCheck, { readSecret }: Target): Map<string, Secret> {
  const names = new Set([...secretsOf(check), "KEY", "ROOT_KEY"]);
  const pairs = [...names].map((name) => [name, readSecret(name)] as const);
  return new Map(pairs.filter((pair): pair is [string, Secret] => pair[1] !== undefined));
}

/** A run's timeout: longer than the failed threshold, to measure slow answers; over before the next run is due. */
export function timeLimitMs(
  check: Pick<RunnableCheck, "failedAboveMs" | "frequencySeconds">,
): number {
  const { failedAboveMs, frequencySeconds } = check;
  return Math.min(failedAboveMs + Math.min(failedAboveMs, 2_000), frequencySeconds * 900);
}
