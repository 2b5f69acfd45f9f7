import type { CheckOf, CheckResult, CheckSnapshot, Heartbeat } from "#monitor/contract.ts";
import type { Response } from "#monitor/kinds/assertions.ts";
import { type Measured, noPhases } from "#monitor/kinds/observe.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";

export function anApiCheck(changes: Partial<CheckOf<"http">> = {}): CheckOf<"http"> {
  return {
    id: "verify-key",
    name: "Verify key",
    environment: "production",
    kind: "http",
    method: "POST",
    path: "/v2/keys.verifyKey",
    headers: {},
    body: null,
    assertions: [{ source: "status", equals: 200 }],
    locations: ["eu-central-1"],
    frequencySeconds: 60,
    degradedAboveMs: 500,
    failedAboveMs: 10_000,
    failedRunThreshold: 1,
    channel: "production",
    ...changes,
  };
}

/** Every day, two hours of grace. */
export function aHeartbeat(changes: Partial<Heartbeat> = {}): Heartbeat {
  return {
    id: "certificate-workflow",
    name: "Certificate Workflow",
    environment: "production",
    watches: "certificate renewal cron job",
    periodSeconds: 86_400,
    graceSeconds: 7_200,
    channel: "production",
    ...changes,
  };
}

export function aCheckResult(changes: Partial<CheckResult> = {}): CheckResult {
  const scheduledAtMs = changes.scheduledAtMs ?? 0;
  return {
    checkId: "verify-key",
    location: "local",
    scheduledAtMs,
    startedAtMs: scheduledAtMs,
    grade: "ok",
    cause: null,
    durationMs: 20,
    phases: noPhases,
    status: 200,
    reason: null,
    tlsDaysLeft: null,
    ...changes,
  };
}

export function aSnapshot(changes: Partial<CheckSnapshot> = {}): CheckSnapshot {
  return {
    checkId: "verify-key",
    kind: "api",
    status: "ok",
    sinceMs: 0,
    lastAtMs: 0,
    lastDurationMs: 1,
    dueAtMs: null,
    alert: null,
    suppressed: null,
    quiet: notQuiet,
    locations: {},
    ...changes,
  };
}

export function aResponse(changes: {
  durationMs?: number;
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}): Measured<Response> {
  const { durationMs = 20, status = 200, headers = {}, body = "{}" } = changes;
  const outcome = { kind: "response", status, headers, body } as const;
  return { durationMs, phases: noPhases, tlsDaysLeft: null, outcome };
}
