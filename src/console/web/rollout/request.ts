/** Makes the request from the fields of the form. Pure. */
import { toInstant } from "#console/web/local-time.ts";
import { toLimit } from "#console/web/parts/lists.ts";
import { parseDuration } from "#kernel/duration.ts";
import type { RolloutRequest } from "#rollout/contract.ts";
import type { Approvals } from "#rollout/policy/contract.ts";
import { type ChoiceFields, choiceOf, choicePaths, noChoice } from "./choice.ts";

export type StartFields = ChoiceFields & {
  image: string;
  waves: string;
  checks: readonly string[];
  cleanRuns: number;
  timeoutSeconds: number;
  maxFailed: string;
  soakSeconds: string;
  rollsBack: boolean;
  notBefore: string;
  /** Empty: those of the settings. */
  approvals: Approvals | "";
  reason: string;
};

export const emptyFields: StartFields = {
  ...noChoice,
  image: "",
  waves: "1, 5, 25, 50, 100",
  checks: [],
  cleanRuns: 3,
  timeoutSeconds: 600,
  maxFailed: "",
  soakSeconds: "",
  rollsBack: false,
  notBefore: "",
  approvals: "",
  reason: "",
};

/** Each field with its path in the request. */
export const startPaths: Record<keyof StartFields, string> = {
  ...choicePaths,
  image: "image",
  waves: "wave_percentages",
  checks: "gate.checks",
  cleanRuns: "gate.clean_runs",
  timeoutSeconds: "gate.timeout_seconds",
  maxFailed: "max_failed.in_all",
  soakSeconds: "soak_seconds",
  rollsBack: "on_failure",
  notBefore: "not_before",
  approvals: "approvals",
  reason: "reason",
};

/** Leaves out empty fields: the server has the defaults. */
export function toRequest(fields: StartFields): RolloutRequest {
  const percentages = readNumbers(fields.waves);
  const { checks, cleanRuns, timeoutSeconds, rollsBack, approvals } = fields;
  const soaks = readNumbers(fields.soakSeconds, secondsIn);
  const notBefore = toInstant(fields.notBefore);
  const maxFailed = toLimit(fields.maxFailed);
  const reason = fields.reason.trim();
  return {
    image: fields.image.trim(),
    ...(percentages.length > 0 && { wave_percentages: percentages }),
    ...(checks.length > 0 && {
      gate: { checks: [...checks], clean_runs: cleanRuns, timeout_seconds: timeoutSeconds },
    }),
    ...(maxFailed !== undefined && { max_failed: { in_all: maxFailed } }),
    ...(soaks.length > 0 && { soak_seconds: soaks.length === 1 ? (soaks[0] ?? 0) : soaks }),
    ...(rollsBack && { on_failure: "rollback" }),
    ...(notBefore !== undefined && { not_before: notBefore }),
    ...(approvals !== "" && { approvals }),
    ...(reason !== "" && { reason }),
    ...choiceOf(fields),
  };
}

/** Numbers separated by spaces, commas, semicolons, % or →. Other text becomes -1, which the server refuses. */
function readNumbers(text: string, numberIn: (word: string) => number = Number): number[] {
  return text
    .split(/[\s,;%→]+/)
    .filter((word) => word !== "")
    .map((word) => (Number.isNaN(numberIn(word)) ? -1 : numberIn(word)));
}

/** The seconds of `10m`, or of a number alone. */
function secondsIn(word: string): number {
  const ms = parseDuration(word);
  return ms === undefined ? Number(word) : ms / 1_000;
}
