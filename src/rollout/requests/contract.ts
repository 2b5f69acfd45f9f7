/** The requests of the rollout's handlers, but for the one that starts it. */
import { z } from "zod";
import { isClean } from "#kernel/text.ts";
import { waitReasons } from "#rollout/policy/contract.ts";
import { Reason } from "#rollout/values/contract.ts";

export const EmptyRequest = z.strictObject({}).meta({ title: "EmptyRequest", examples: [{}] });

export const ResumeRequest = z
  .strictObject({
    retry_failed: z.boolean().optional().meta({
      description: "Deploys the failed sentinels of the wave again before the rollout goes on.",
    }),
  })
  .meta({ title: "ResumeRequest", examples: [{}, { retry_failed: true }] });
export type ResumeRequest = z.infer<typeof ResumeRequest>;

export const RollbackRequest = z
  .strictObject({
    include_failed: z.boolean().optional().meta({
      description:
        "Orders the previous image to sentinels that failed, too, which may still be brought to the new one.",
    }),
  })
  .meta({ title: "RollbackRequest", examples: [{}, { include_failed: true }] });
export type RollbackRequest = z.infer<typeof RollbackRequest>;

export const SkipRequest = z
  .strictObject({
    reason: Reason,
    waiting_for: z.enum(waitReasons).optional().meta({
      description: "The wait that was seen: another one is not ended, and the call refused.",
    }),
    wave: z.int().min(0).optional().meta({
      description: "The wave after which it was seen to wait, 0 before the first: as above.",
    }),
  })
  .meta({ title: "SkipRequest", examples: [{ reason: "incident 4711" }] });
export type SkipRequest = z.infer<typeof SkipRequest>;

export const ApproveRequest = z
  .strictObject({
    reason: Reason.optional(),
    rollout_id: z.string().max(300).optional().meta({
      description: "The rollout that was seen: another one is not approved, and the call refused.",
    }),
    wave: z.int().min(1).optional().meta({
      description: "The wave that was seen to wait, from 1: as above.",
    }),
  })
  .meta({ title: "ApproveRequest", examples: [{}, { reason: "the canaries are fine", wave: 2 }] });
export type ApproveRequest = z.infer<typeof ApproveRequest>;

export const HistoryRequest = z
  .strictObject({
    limit: z.int().min(1).max(100).default(20),
    /** A rollout id: only rollouts that started before it. */
    before: z
      .string()
      .refine((id) => isClean(id, 300), { error: "must be a rollout id" })
      .optional(),
  })
  .meta({ title: "HistoryRequest", examples: [{ limit: 20 }] });
export type HistoryRequest = z.infer<typeof HistoryRequest>;
