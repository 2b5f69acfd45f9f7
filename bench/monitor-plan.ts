/** The checks of the monitor's measurements, shared by the worker's process and the measuring one. */
import { createHash } from "node:crypto";
import type { ApiCheck, Definitions, Heartbeat } from "#monitor/contract.ts";

/** `<prefix>-0`, `<prefix>-1` and so on. */
type HeartbeatGroup = {
  prefix: string;
  count: number;
  periodSeconds: number;
  graceSeconds: number;
};
type CheckGroup = { prefix: string; count: number; frequencySeconds: number };

export type Plan = { heartbeats: HeartbeatGroup[]; checks: CheckGroup[] };

/** Settings with which the measuring process starts the worker's. */
export type NodeSettings = {
  plan: Plan;
  databaseUrl: string;
  ingressUrl: string;
  targetUrl: string;
  receiverUrl: string;
  /** True if checks call the target; otherwise each is ok without a request, to measure scheduling only. */
  isProbing: boolean;
};

/** start: the checks. wake: the delivery, as after a commit with alert events. */
export type Wish = "start" | "wake";

export function definitionsOf(plan: Plan): Definitions {
  return {
    channels: [],
    apiChecks: plan.checks.flatMap((group) => idsOf(group).map((id) => toCheck(id, group))),
    heartbeats: plan.heartbeats.flatMap((group) =>
      idsOf(group).map((id) => toHeartbeat(id, group)),
    ),
  };
}

export function idsOf({ prefix, count }: { prefix: string; count: number }): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}-${i}`);
}

/** Returns a token of the length of a real one. */
export function pingTokenOf(id: string): string {
  return createHash("sha256").update(`token of ${id}`).digest("base64url");
}

function toCheck(id: string, { frequencySeconds }: CheckGroup): ApiCheck {
  return {
    id,
    name: id,
    environment: "production",
    kind: "http",
    method: "GET",
    path: `/${id}`,
    headers: {},
    body: null,
    assertions: [{ source: "status", equals: 200 }],
    locations: ["eu-central-1"],
    frequencySeconds,
    degradedAboveMs: 5_000,
    failedAboveMs: 10_000,
    failedRunThreshold: 1,
    channel: "production",
  };
}

function toHeartbeat(id: string, { periodSeconds, graceSeconds }: HeartbeatGroup): Heartbeat {
  return {
    id,
    name: id,
    environment: "production",
    watches: "nothing",
    periodSeconds,
    graceSeconds,
    channel: "production",
  };
}
