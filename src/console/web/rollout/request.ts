/** Makes the request from the fields of the form. */
import { toInstant } from "#console/web/local-time.ts";
import type { RolloutRequest } from "#rollout/contract.ts";

export type StartFields = {
  image: string;
  waves: string;
  checks: readonly string[];
  cleanRuns: number;
  timeoutSeconds: number;
  maxFailed: string;
  soakSeconds: string;
  rollsBack: boolean;
  notBefore: string;
};

/** Leaves out empty fields: the server has the defaults. */
export function toRequest(fields: StartFields): RolloutRequest {
  const percentages = readNumbers(fields.waves);
  const { checks, cleanRuns, timeoutSeconds, rollsBack } = fields;
  const soaks = readNumbers(fields.soakSeconds);
  const notBefore = toInstant(fields.notBefore);
  const maxFailed = fields.maxFailed.replaceAll(" ", "");
  return {
    image: fields.image.trim(),
    ...(percentages.length > 0 && { wave_percentages: percentages }),
    ...(checks.length > 0 && {
      gate: { checks: [...checks], clean_runs: cleanRuns, timeout_seconds: timeoutSeconds },
    }),
    ...(maxFailed !== "" && {
      max_failed: { in_all: /^\d+$/.test(maxFailed) ? Number(maxFailed) : maxFailed },
    }),
    ...(soaks.length > 0 && { soak_seconds: soaks.length === 1 ? (soaks[0] ?? 0) : soaks }),
    ...(rollsBack && { on_failure: "rollback" }),
    ...(notBefore !== undefined && { not_before: notBefore }),
  };
}

/** Numbers separated by spaces, commas, semicolons, % or →. Other text becomes -1, which the server refuses. */
function readNumbers(text: string): number[] {
  return text
    .split(/[\s,;%→]+/)
    .filter((word) => word !== "")
    .map((word) => (Number.isNaN(Number(word)) ? -1 : Number(word)));
}
