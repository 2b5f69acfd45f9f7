/** The protocol between the gateway and a runner at a further location. */
import { z } from "zod";
import { cleanWords } from "#kernel/log.ts";
import { OwnService } from "#kernel/reach.ts";
import { listOf } from "#kernel/setting.ts";
import { CheckResult, RunnableCheck } from "#monitor/contract.ts";
import { ofEachPhase } from "#monitor/kinds/observe.ts";

export const workPath = "/runner/work";
export const reportPath = "/runner/report";

/** More headers, assertions or locations than any check has. Limited, since zod reports each wrong one. */
const maxParts = 1_000;

const ShortCheck = z
  .custom<RunnableCheck>((check) => partsOf(check).every(isShort), "too long")
  .pipe(RunnableCheck);

function isShort(part: unknown): boolean {
  return typeof part !== "object" || Object.keys(part ?? {}).length <= maxParts;
}

/** The values of a check and of the objects in its lists, such as steps; a longer list than any check has is refused as a whole. */
function partsOf(check: unknown): unknown[] {
  const parts = Object.values(check ?? {});
  const lists = parts.filter((part) => Array.isArray(part) && part.length <= mostListed);
  const listed = lists.flat().filter((one) => typeof one === "object");
  return [...parts, ...listed.flatMap((one) => Object.values(one ?? {}))];
}

/** No kind has a longer list of objects in which something may be wrong. */
const mostListed = 50;

export const WorkRequest = z.object({
  /** The kinds of checks that the runner knows. */
  kinds: z.array(z.string().max(20)).max(50),
});
export type WorkRequest = z.infer<typeof WorkRequest>;

/** The answer to `POST /runner/work`: what to run at the caller's location. */
export const Work = z.object({
  location: z.string(),
  /** The gateway's clock, Unix milliseconds, which runners follow instead of their own. */
  now_ms: z.int(),
  base_url: z.string(),
  /** Services of the installation, to which no check may lead. */
  services: listOf(OwnService, 1_000),
  /** With placeholders for secrets: a runner has its own. */
  checks: listOf(ShortCheck, 100_000),
});
export type Work = z.infer<typeof Work>;

const spanMs = z.number().min(0).max(3_600_000);
const atMs = z.int().min(0).max(8_640_000_000_000_000);

/** A result with bounds, since it comes from a program elsewhere, and is stored and shown. */
const ReportedResult = CheckResult.extend({
  scheduledAtMs: atMs,
  startedAtMs: atMs,
  durationMs: spanMs,
  phases: z.object(ofEachPhase(spanMs.nullable())),
  status: z.int().min(0).max(999).nullable(),
  reason: z
    .string()
    .transform((text) => cleanWords(text, 1_000))
    .nullable(),
  // A certificate without an expiry has the year 9999.
  tlsDaysLeft: z.int().min(-5_000_000).max(5_000_000).nullable(),
});

/** The body of `POST /runner/report`. The location is that of the token, whatever a result says. */
export const RunnerReport = z.strictObject({ results: z.array(ReportedResult).min(1).max(100) });
export type RunnerReport = z.infer<typeof RunnerReport>;
