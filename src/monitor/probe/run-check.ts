/** Runs an API check once, here: the request with its secrets, the probe, the grade. */

import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { toResult } from "#monitor/rules/grade.ts";
import type { Probe } from "./probe.ts";
import { buildRequest, maxBodyBytes, type Secrets, secretsOf } from "./request.ts";

/** Where checks call, and with what. A secret that is empty is not set. */
export type Target = { baseUrl: string; secrets: Secrets };

export type RunCheck = (check: ApiCheck, scheduledAtMs: number) => Promise<CheckResult>;

type Parts = { probe: Probe; target: Target; location: string; nowMs: () => number };

export function createRunCheck({ probe, target, location, nowMs }: Parts): RunCheck {
  return async (check, scheduledAtMs) => {
    const startedAtMs = nowMs();
    const limits = { timeoutMs: timeLimitMs(check), maxBodyBytes };
    const seen = await probe(buildRequest(check, target), limits);
    const result = toResult(check, { location, scheduledAtMs, startedAtMs }, seen);
    return withoutSecrets(result, target.secrets);
  };
}

/** Whether the check can run: a request with a secret missing would only ever fail. */
export function canRun(check: ApiCheck, { secrets }: Target): boolean {
  return secretsOf(check).every((name) => secrets[name] !== "");
}

/**
 * A little longer than what fails, so that the record says how slow an answer was; but over before
 * the next run is due.
 */
export function timeLimitMs(check: Pick<ApiCheck, "failedAboveMs" | "frequencySeconds">): number {
  const { failedAboveMs, frequencySeconds } = check;
  return Math.min(failedAboveMs + Math.min(failedAboveMs, 2_000), frequencySeconds * 900);
}

/** A reason may quote what the server said, and the server may say what it was told. */
function withoutSecrets(result: CheckResult, secrets: Secrets): CheckResult {
  if (result.reason === null) return result;
  const known = Object.values(secrets).filter((secret) => secret !== "");
  return { ...result, reason: known.reduce(hideSecret, result.reason) };
}

/** As it is, as JSON writes it, and what is left of it where a quotation is cut. */
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

/** So much of a secret tells nothing. */
const shortestPart = 4;
