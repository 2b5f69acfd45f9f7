/** What a runner at a further place and the gateway say to each other. */
import { z } from "zod";
import { cleanText } from "#kernel/clean-text.ts";
import { listOf } from "#kernel/list-of.ts";
import { ApiCheck, CheckResult } from "#monitor/contract.ts";
export const workPath = "/runner/work";
export const reportPath = "/runner/report";

/** No check has so many headers, assertions or places; each wrong one would be described. */
const mostParts = 1_000;

const ShortCheck = z
  .custom<ApiCheck>((check) => Object.values(check ?? {}).every(isShort), "too long")
  .pipe(ApiCheck);

function isShort(part: unknown): boolean {
  return typeof part !== "object" || Object.keys(part ?? {}).length <= mostParts;
}

/** The answer to `POST /runner/work`: what to run at the caller's place, on which grid. */
export const Work = z.object({
  location: z.string(),
  /** By the gateway's clock, Unix milliseconds: runners keep to its grid and not to their own. */
  now_ms: z.int(),
  /** Where the API is. */
  base_url: z.string(),
  /** With placeholders for secrets, which a runner has of its own. */
  checks: listOf(ShortCheck, 100_000),
});
export type Work = z.infer<typeof Work>;

const spanMs = z.number().min(0).max(3_600_000);
const atMs = z.int().min(0).max(8_640_000_000_000_000);

/** Bounded, since it is kept and shown: a runner is a program elsewhere. */
const FoundResult = CheckResult.extend({
  scheduledAtMs: atMs,
  startedAtMs: atMs,
  durationMs: spanMs,
  phases: z.object({
    dns: spanMs.nullable(),
    connect: spanMs.nullable(),
    tls: spanMs.nullable(),
    firstByte: spanMs.nullable(),
    transfer: spanMs.nullable(),
  }),
  status: z.int().min(0).max(999).nullable(),
  reason: z
    .string()
    .transform((text) => cleanText(text, 1_000))
    .nullable(),
  // A certificate without end says the year 9999.
  tlsDaysLeft: z.int().min(-5_000_000).max(5_000_000).nullable(),
});

/** The body of `POST /runner/report`. The place is that of the token, whatever a result says. */
export const RunnerReport = z.strictObject({ results: z.array(FoundResult).min(1).max(100) });
export type RunnerReport = z.infer<typeof RunnerReport>;
