/** ratelimit.limit and ratelimit.multiLimit. */
import { z } from "zod";
import type { RatelimitRow } from "#api/analytics/recorder.ts";
import { tuple } from "#api/grants.ts";
import { list } from "#api/list.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { text, whole } from "#api/schema.ts";
import type { LimitAnswer, LimitRequest } from "./limiter.ts";
import type { Namespace } from "./namespaces.ts";
import type { Override } from "./overrides.ts";
import type { RatelimitParts } from "./procedures.ts";

const LimitInput = z.strictObject({
  namespace: text({ min: 1, max: 512 }),
  identifier: text({ min: 1, max: 512 }),
  limit: whole({ min: 1 }),
  duration: whole({ min: 1_000, max: 2_592_000_000 }),
  cost: whole({ min: 0 }).default(1),
});
type LimitInput = z.infer<typeof LimitInput>;

const limitFields = {
  limit: whole(),
  remaining: whole(),
  /** Unix milliseconds. */
  reset: whole(),
  overrideId: z.string().optional(),
};

export function limit(parts: RatelimitParts) {
  return procedure({
    summary: "Counts against a limit and tells whether it passes.",
    input: LimitInput,
    output: z.object({ ...limitFields, success: z.boolean() }),
    refusals: [404, 410],
    handle: async (input, call) => {
      const [decision] = await decide(parts, call, [input]);
      const { passed, ...told } = (decision as Decision).told;
      return { data: { ...told, success: passed } };
    },
  });
}

const CheckOutput = z.object({
  ...limitFields,
  namespace: z.string(),
  identifier: z.string(),
  passed: z.boolean(),
});

export function multiLimit(parts: RatelimitParts) {
  return procedure({
    summary: "Counts against several limits, all or none.",
    input: list(LimitInput, { min: 1, max: 100 }),
    output: z.object({ passed: z.boolean(), limits: z.array(CheckOutput) }),
    refusals: [404, 410],
    handle: async (inputs, call) => {
      const decisions = await decide(parts, call, inputs);
      const limits = decisions.map(({ input, told }) => ({
        ...told,
        namespace: input.namespace,
        identifier: input.identifier,
      }));
      return { data: { passed: limits.every(({ passed }) => passed), limits } };
    },
  });
}

type Subject = { input: LimitInput; namespace: Namespace; override: Override | undefined };

type Decision = {
  input: LimitInput;
  told: {
    limit: number;
    remaining: number;
    reset: number;
    passed: boolean;
    overrideId: string | undefined;
  };
};

async function decide(
  parts: RatelimitParts,
  call: Call,
  inputs: readonly LimitInput[],
): Promise<Decision[]> {
  const startedAt = performance.now();
  const subjects: Subject[] = [];
  for (const input of inputs) {
    const finding = parts.namespaces.ensure(call, input.namespace);
    const namespace = finding instanceof Promise ? await finding : finding;
    demand(call, tuple("ratelimit", namespace.id, "limit"));
    subjects.push({ input, namespace, override: namespace.findOverride(input.identifier) });
  }
  const requests = subjects.map((subject) => toRequest(call.workspaceId, subject));
  const taking = parts.limiter.take(requests, call.nowMs);
  const { answers } = taking instanceof Promise ? await taking : taking;
  const isRecorded = call.headers["x-unkey-metrics"] !== "disabled";
  return subjects.map((subject, index) => {
    const request = requests[index] as LimitRequest;
    const answer = answers[index] as LimitAnswer;
    if (isRecorded) {
      const latency = performance.now() - startedAt;
      parts.recorder.ratelimit(toRow(call, { ...subject, request, answer, latency }));
    }
    return {
      input: subject.input,
      told: {
        limit: request.limit,
        remaining: answer.remaining,
        reset: answer.resetMs,
        passed: answer.passed,
        overrideId: subject.override?.id,
      },
    };
  });
}

/** The identifier comes last: it alone may hold any character. */
function toRequest(workspaceId: string, { input, namespace, override }: Subject): LimitRequest {
  return {
    key: `${workspaceId}/${namespace.id}/${input.identifier}`,
    limit: override?.limit ?? input.limit,
    durationMs: override?.durationMs ?? input.duration,
    cost: input.cost,
  };
}

type Taken = Subject & { request: LimitRequest; answer: LimitAnswer; latency: number };

function toRow(call: Call, taken: Taken): RatelimitRow {
  const { input, namespace, override, request, answer, latency } = taken;
  return {
    request_id: call.requestId,
    time: call.nowMs,
    workspace_id: call.workspaceId,
    namespace_id: namespace.id,
    identifier: input.identifier,
    passed: answer.passed,
    latency,
    override_id: override?.id ?? "",
    limit: request.limit,
    remaining: answer.remaining,
    reset_at: answer.resetMs,
    tokens: input.cost,
  };
}
