/** The steps of a check: requests that take values from answers for those that follow. */
import { z } from "zod";
import { Extraction, extractName, maxExtracts, stepMethods } from "#monitor/kinds/contract.ts";
import { text } from "./fields.ts";
import { lintRequest, requestFields } from "./request.ts";

export const StepRow = z.strictObject({
  name: text(100).optional().describe("As reasons have it, besides its number."),
  method: z.enum(stepMethods).default("GET"),
  ...requestFields,
  extract: z
    .record(
      z
        .string()
        .max(50)
        .regex(extractName, "has to be lower-case letters and digits, such as order_id"),
      Extraction,
    )
    .default({})
    .refine((given) => Object.keys(given).length <= maxExtracts, `has more than ${maxExtracts}`)
    .describe("Values of the answer by name, which later steps use as {{name}}."),
});
export type CompleteStep = z.output<typeof StepRow>;

export function lintSteps(
  steps: readonly CompleteStep[],
  complain: (path: (string | number)[], message: string) => void,
): void {
  for (const [index, step] of steps.entries()) {
    lintRequest(step, "method", (field, message) => complain(["steps", index, field], message));
  }
}
