/** ratelimit.limit and ratelimit.multiLimit. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { tuple } from "#api/access/grants.ts";
import type { RatelimitRow } from "#api/analytics/recorder.ts";
import type { LimitAnswer, LimitRequest } from "#api/limiter.ts";
import { type Call, demand, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import { text, whole } from "#api/schemas/schema.ts";
import type { Namespace } from "./namespaces.ts";
import type { Override } from "./overrides.ts";
import type { RatelimitParts } from "./parts.ts";

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
      const startedAt = performance.now();
      const finding = findSubject(parts, call, input);
      const subject = finding instanceof Promise ? await finding : finding;
      const request = toRequest(call.workspaceId, subject);
      const taking = parts.limiter.take([request], call.nowMs);
      const { answers } = taking instanceof Promise ? await taking : taking;
      const answer = answers[0] as LimitAnswer;
      // What is answered is counted, also when this process is killed right after.
      await record(parts, call, { subject, request, answer, startedAt });
      return { data: { ...tell(subject, request, answer), success: answer.passed } };
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
      const startedAt = performance.now();
      const subjects = await findSubjects(parts, call, inputs);
      const requests = subjects.map((subject) => toRequest(call.workspaceId, subject));
      const { answers } = await parts.limiter.take(requests, call.nowMs);
      const recorded: unknown[] = [];
      const limits = subjects.map((subject, index) => {
        const request = requests[index] as LimitRequest;
        const answer = answers[index] as LimitAnswer;
        recorded.push(record(parts, call, { subject, request, answer, startedAt }));
        const { namespace, identifier } = subject.input;
        const told = tell(subject, request, answer);
        return { ...told, namespace, identifier, passed: answer.passed };
      });
      await Promise.all(recorded);
      return { data: { passed: limits.every(({ passed }) => passed), limits } };
    },
  });
}

type Subject = { input: LimitInput; namespace: Namespace; override: Override | undefined };

/** To try many patterns on many identifiers takes its time: after so long others have their turn. */
const turnMs = 5;

async function findSubjects(
  parts: RatelimitParts,
  call: Call,
  inputs: readonly LimitInput[],
): Promise<Subject[]> {
  const subjects: Subject[] = [];
  let turnAt = performance.now();
  for (const input of inputs) {
    subjects.push(await findSubject(parts, call, input));
    if (performance.now() - turnAt < turnMs) continue;
    await nextTurn();
    turnAt = performance.now();
  }
  return subjects;
}

/** Answers at once when the namespace is known. */
function findSubject(
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

function tell({ override }: Subject, { limit }: LimitRequest, answer: LimitAnswer) {
  const { remaining, resetMs: reset } = answer;
  return { limit, remaining, reset, overrideId: override?.id };
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

type LimitDecision = {
  subject: Subject;
  request: LimitRequest;
  answer: LimitAnswer;
  startedAt: number;
};

function record(
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
    latency: performance.now() - startedAt,
    override_id: override?.id ?? "",
    limit: request.limit,
    remaining: answer.remaining,
    reset_at: answer.resetMs,
    tokens: input.cost,
  };
}
