/** Why a check is off, in words. Pure. */
import type { CheckView } from "#monitor/results/contract.ts";

type Check = Pick<CheckView, "status" | "missing_settings">;

/** What to set; undefined: the check is not off. */
export function offWords({ status, missing_settings: missing }: Check): string | undefined {
  if (missing !== undefined && missing.length > 0) return `off: set ${missing.join(" and ")}`;
  // It has just got them.
  return status === "paused" ? "off until its next run" : undefined;
}
