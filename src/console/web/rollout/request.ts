/** From the fields of the form to the request, and back to the words for what is wrong. */
import type { RolloutRequest } from "#rollout/contract.ts";

export type StartFields = {
  image: string;
  waves: string;
  checks: readonly string[];
  cleanRuns: number;
  timeoutSeconds: number;
};

/** What is not filled in is left to the server, which knows what it then does. */
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

/** Whatever stands between the numbers separates them; what is no number becomes one that is refused. */
function readPercentages(text: string): number[] {
  return text
    .split(/[\s,;%→]+/)
    .filter((word) => word !== "")
    .map((word) => Number(word) || 0);
}
