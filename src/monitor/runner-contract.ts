/** What a runner at a further place and the gateway say to each other. */
import { z } from "zod";
import { ApiCheck, CheckResult } from "./contract.ts";

export const workPath = "/runner/work";
export const reportPath = "/runner/report";

/** The answer to `POST /runner/work`: what to run at the caller's place, on which grid. */
export const Work = z.object({
  location: z.string(),
  /** By the gateway's clock, Unix milliseconds: runners keep to its grid and not to their own. */
  now_ms: z.int(),
  /** Where the API is. */
  base_url: z.string(),
  /** With placeholders for secrets, which a runner has of its own. */
  checks: z.array(ApiCheck),
});
export type Work = z.infer<typeof Work>;

/** The body of `POST /runner/report`. The place is that of the token, whatever a result says. */
export const RunnerReport = z.strictObject({ results: z.array(CheckResult).min(1).max(100) });
export type RunnerReport = z.infer<typeof RunnerReport>;
