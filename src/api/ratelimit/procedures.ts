/** The namespace `ratelimit`: the key of an entry is the procedure's name. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import type { LimitAnswer, LimitRequest } from "#api/limiter.ts";
import { type Call, type Procedures, procedure } from "#api/procedure.ts";
import { list } from "#api/schemas/list.ts";
import {
  describeDecision,
  exampleDecision,
  exampleLimitInput,
  findSubject,
  LimitInput,
  limitFields,
  type RatelimitParts,
  readUsualLimit,
  recordDecision,
  type Subject,
  toRequest,
} from "./decision.ts";
import { deleteOverride, getOverride, listOverrides, setOverride } from "./override-procedures.ts";

export function ratelimitProcedures(parts: RatelimitParts): Procedures {
  return {
    deleteOverride: deleteOverride(parts),
    getOverride: getOverride(parts),
    limit: limit(parts),
    listOverrides: listOverrides(parts),
    multiLimit: multiLimit(parts),
    setOverride: setOverride(parts),
  };
}

function limit(parts: RatelimitParts) {
  return procedure({
    summary: "Counts against a limit and returns whether it passes.",
    input: LimitInput,
    readUsual: readUsualLimit,
    output: z.object({
      ...limitFields,
      success: z.boolean().describe("Whether it passes; what does not is not counted."),
    }),
    example: { body: exampleLimitInput, data: { ...exampleDecision, success: true } },
    refusals: [404, 410],
    handle: async (input, call) => {
      const startedAt = performance.now();
      const finding = findSubject(parts, call, input);
      const subject = finding instanceof Promise ? await finding : finding;
      const request = toRequest(call.workspaceId, subject);
      const taking = parts.limiter.take([request], call.nowMs);
      const { answers } = taking instanceof Promise ? await taking : taking;
      const answer = answers[0] as LimitAnswer;
      // Recorded before the answer is sent, so that it is counted even if this process is killed right after.
      await recordDecision(parts, call, { subject, request, answer, startedAt });
      return { data: { ...describeDecision(subject, request, answer), success: answer.passed } };
    },
  });
}

const CheckOutput = z.object({
  ...limitFields,
  namespace: z.string().describe("The namespace, as it was sent."),
  identifier: z.string().describe("The identifier, as it was sent."),
  passed: z.boolean().describe("Whether this limit by itself would let the call pass."),
});

export function multiLimit(parts: RatelimitParts) {
  return procedure({
    summary: "Counts against several limits, all or none.",
    input: list(LimitInput, { min: 1, max: 100 }).describe("The limits, 1 to 100."),
    output: z.object({
      passed: z.boolean().describe("Whether all limits pass; if not, none is counted."),
      limits: z
        .array(CheckOutput)
        .describe("One answer for each limit, in the order of the request."),
    }),
    example: {
      body: [exampleLimitInput],
      data: {
        passed: true,
        limits: [{ ...exampleDecision, namespace: "emails", identifier: "user_42", passed: true }],
      },
    },
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
        recorded.push(recordDecision(parts, call, { subject, request, answer, startedAt }));
        const { namespace, identifier } = subject.input;
        const described = describeDecision(subject, request, answer);
        return { ...described, namespace, identifier, passed: answer.passed };
      });
      await Promise.all(recorded);
      return { data: { passed: limits.every(({ passed }) => passed), limits } };
    },
  });
}

/** Matching many patterns against many identifiers takes long: the event loop is yielded after so long. */
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
