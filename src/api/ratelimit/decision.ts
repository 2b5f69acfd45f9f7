/** One limit decision of a call: its identifier and override, the request to the limiter, the answer, the recorded row. */
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import {
  type AnalyticsRecorder,
  latencySince,
  type RatelimitRow,
} from "#api/analytics/recording/recorder.ts";
import type { MakeChange } from "#api/changes/change.ts";
import type { LimitAnswer, Limiter, LimitRequest } from "#api/limiter.ts";
import { type Call, demand } from "#api/procedure.ts";
import { isUsualText, text, whole } from "#api/schemas/schema.ts";
import type { Database } from "#kernel/database.ts";
import type { Namespace, Namespaces } from "./namespaces.ts";
import type { Override } from "./overrides.ts";

export const LimitInput = z.strictObject({
  namespace: text({ min: 1, max: 512 }).describe(
    "What is limited: the name of a namespace or its id, `rlns_…`. An unknown name is created if the root key may.",
  ),
  identifier: text({ min: 1, max: 512 }).describe(
    "Who is limited: a user's id, an address. Each has a count of its own.",
  ),
  limit: whole({ min: 1 }).describe(
    "How much may be counted in one window, unless an override says otherwise.",
  ),
  duration: whole({ min: 1_000, max: 2_592_000_000 }).describe(
    "Length of a window in milliseconds, one second to 30 days, unless an override says otherwise.",
  ),
  cost: whole({ min: 0 })
    .default(1)
    .describe("How much is counted; 0 looks without counting. Absent: 1."),
});
export type LimitInput = z.infer<typeof LimitInput>;

/** `readUsual` of the procedure: nothing but what `LimitInput` names, all of it valid. */
export function readUsualLimit(body: unknown): LimitInput | undefined {
  const given = (body ?? {}) as Record<string, unknown>;
  const { namespace, identifier, limit, duration, cost = 1 } = given;
  const names = given["cost"] === undefined ? 4 : 5;
  const isUsual =
    isUsualText(namespace, 512) &&
    isUsualText(identifier, 512) &&
    isWhole(limit, { min: 1 }) &&
    isWhole(duration, { min: 1_000, max: 2_592_000_000 }) &&
    isWhole(cost, { min: 0 }) &&
    Object.keys(given).length === names;
  return isUsual ? { namespace, identifier, limit, duration, cost } : undefined;
}

function isWhole(
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number },
): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

export const limitFields = {
  limit: whole().describe(
    "How much may be counted in one window, by the override if there is one.",
  ),
  remaining: whole().describe("How much may still be counted in this window."),
  reset: whole().describe("When the window ends, unix time in milliseconds."),
  overrideId: z
    .string()
    .describe("The id of the override that was applied, `rlor_…`; absent: none.")
    .optional(),
};

export const exampleLimitInput = {
  namespace: "emails",
  identifier: "user_42",
  limit: 10,
  duration: 60_000,
  cost: 1,
};

export const exampleDecision = { limit: 10, remaining: 9, reset: 1_794_139_260_000 };

export type Subject = { input: LimitInput; namespace: Namespace; override: Override | undefined };

/** Returns a promise only when the namespace is not cached. */
export function findSubject(
  parts: RatelimitParts,
  call: Call,
  input: LimitInput,
): Subject | Promise<Subject> {
  const toSubject = (namespace: Namespace): Subject => {
    demand(call, tuple("ratelimit", namespace.id, "limit"));
    return { input, namespace, override: namespace.findOverride(input.identifier) };
  };
  const finding = parts.namespaces.ensure(call, input.namespace);
  return finding instanceof Promise ? finding.then(toSubject) : toSubject(finding);
}

export function describeDecision(
  { override }: Subject,
  { limit }: LimitRequest,
  answer: LimitAnswer,
) {
  const { remaining, resetMs: reset } = answer;
  return { limit, remaining, reset, overrideId: override?.id };
}

/** The identifier comes last, as it may contain any character. */
export function toRequest(
  workspaceId: string,
  { input, namespace, override }: Subject,
): LimitRequest {
  return {
    key: `${workspaceId}/${namespace.id}/${input.identifier}`,
    limit: override?.limit ?? input.limit,
    durationMs: override?.durationMs ?? input.duration,
    cost: input.cost,
  };
}

type LimitDecision = {
  subject: Subject;
  request: LimitRequest;
  answer: LimitAnswer;
  startedAt: number;
};

export function recordDecision(
  { recorder }: RatelimitParts,
  call: Call,
  taken: LimitDecision,
): Promise<void> | void {
  if (call.headers["x-unkey-metrics"] === "disabled") return;
  return recorder.ratelimit(toRow(call, taken));
}

function toRow(call: Call, { subject, request, answer, startedAt }: LimitDecision): RatelimitRow {
  const { input, namespace, override } = subject;
  return {
    request_id: call.requestId,
    time: call.nowMs,
    workspace_id: call.workspaceId,
    namespace_id: namespace.id,
    identifier: input.identifier,
    passed: answer.passed,
    latency: latencySince(startedAt),
    override_id: override?.id ?? "",
    limit: request.limit,
    remaining: answer.remaining,
    reset_at: answer.resetMs,
    tokens: input.cost,
  };
}

export type RatelimitParts = {
  database: Database;
  change: MakeChange;
  namespaces: Namespaces;
  limiter: Limiter;
  recorder: Pick<AnalyticsRecorder, "ratelimit">;
};
