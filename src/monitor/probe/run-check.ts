/** Runs an API check once at this location: fills in the secrets, probes, grades. */

import type { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { toResult } from "#monitor/rules/grade.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, maxBodyBytes, type ReadSecret, secretsOf } from "./request.ts";

/** The API that checks call, and where their secrets are. */
export type Target = { baseUrl: string; readSecret: ReadSecret };

export type RunCheck = (check: RunnableCheck, scheduledAtMs: number) => Promise<CheckResult>;

type Parts = { probe: Probe; target: Target; location: string; nowMs: () => number };

export function createRunCheck({ probe, target, location, nowMs }: Parts): RunCheck {
  return async (check, scheduledAtMs) => {
    const startedAtMs = nowMs();
    const limits = { timeoutMs: timeLimitMs(check), maxBodyBytes };
    // Read once: one that is replaced meanwhile must be hidden as it was sent.
    const secrets = readSecrets(check, target);
    const request = buildRequest(check, {
      baseUrl: target.baseUrl,
      readSecret: (name) => secrets.get(name),
    });
    const observation = await probe(request, limits);
    const result = toResult(check, { location, scheduledAtMs, startedAtMs }, observation);
    return withoutSecrets(result, [...secrets.values()]);
  };
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

/** A reason may quote the answer, and a server may echo the secrets of the request. */
function withoutSecrets(result: CheckResult, secrets: readonly string[]): CheckResult {
  if (result.reason === null) return result;
  return { ...result, reason: secrets.reduce(hideSecret, result.reason) };
}

/** Hides the secret as it is, as escaped in JSON, and its beginning where a quotation was cut with `…`. */
function hideSecret(text: string, secret: string): string {
  const asJson = JSON.stringify(secret).slice(1, -1);
  const hidden = text.replaceAll(asJson, "***").replaceAll(secret, "***");
  const parts = hidden.split("…");
  return parts.map((part, i) => (i + 1 < parts.length ? hideEnd(part, asJson) : part)).join("…");
}

function hideEnd(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= shortestPart; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}***`;
  }
  return text;
}

/** The shortest beginning of a secret to hide; fewer characters disclose nothing. */
const shortestPart = 4;
