/** Makes the request from the fields of the form. */
import type { RolloutRequest } from "#rollout/contract.ts";

export type StartFields = {
  image: string;
  waves: string;
  checks: readonly string[];
  cleanRuns: number;
  timeoutSeconds: number;
};

/** Leaves out empty fields: the server has the defaults. */
export function toRequest(fields: StartFields): RolloutRequest {
  const percentages = readPercentages(fields.waves);
  const { checks, cleanRuns, timeoutSeconds } = fields;
  return {
    image: fields.image.trim(),
    ...(percentages.length > 0 && { wave_percentages: percentages }),
    ...(checks.length > 0 && {
      gate: { checks: [...checks], clean_runs: cleanRuns, timeout_seconds: timeoutSeconds },
    }),
  };
}

/** Numbers separated by spaces, commas, semicolons, % or →. Other text becomes 0, which the server refuses. */
function readPercentages(text: string): number[] {
  return text
    .split(/[\s,;%→]+/)
    .filter((word) => word !== "")
    .map((word) => Number(word) || 0);
}
