import { z } from "zod";
import type { LimitAnswer } from "#api/limiter.ts";
import { procedure } from "#api/procedure.ts";
import {
  describeDecision,
  exampleDecision,
  exampleLimitInput,
  findSubject,
  LimitInput,
  limitFields,
  readUsualLimit,
  recordDecision,
  toRequest,
} from "./decision.ts";
import type { RatelimitParts } from "./parts.ts";

export function limit(parts: RatelimitParts) {
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
