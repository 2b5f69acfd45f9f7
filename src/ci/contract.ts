/** Evidence of an image's CI result. */
import { z } from "zod";

/**
 * `commit`: the statuses and check runs of the commit that the image was built from. `signature`: a signature by
 * one of the signers in the settings. `provenance`: a signed statement that names builder and source. `label`:
 * labels of the image.
 */
export const CiKind = z.enum(["commit", "signature", "provenance", "label"]);
export type CiKind = z.infer<typeof CiKind>;

/** `missing`: no evidence. `unverifiable`: it proves nothing. `unavailable`: whoever has it could not be asked. */
export const CiResult = z.enum([
  "passed",
  "failed",
  "pending",
  "missing",
  "unverifiable",
  "unavailable",
]);
export type CiResult = z.infer<typeof CiResult>;

/** Why a rollout of an image is refused. */
export type CiProblemCode = `ci_${Exclude<CiResult, "passed">}`;

export const CiEvidence = z.object({
  kind: CiKind,
  result: CiResult,
  /** True if a rollout may start: it has passed, or the settings let this result pass. */
  passes: z.boolean(),
  /** Explanation in words, at most 500 characters. */
  detail: z.string(),
  /** A page for people. */
  url: z.string().optional(),
});
export type CiEvidence = z.infer<typeof CiEvidence>;
