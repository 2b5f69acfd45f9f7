/** What a check or heartbeat depends on, and what becomes of its alert meanwhile. Times are Unix ms. */
import { z } from "zod";

/** What a check depends on; `kind` says which object has its state. */
export const Dependency = z.object({ id: z.string(), kind: z.enum(["api", "heartbeat"]) });
export type Dependency = z.infer<typeof Dependency>;

/** The check fails and alerts nobody, because `by`, which it depends on, fails. */
export const Suppression = z.object({
  by: z.string(),
  sinceMs: z.int(),
  /** What the alert would have said. */
  reason: z.string(),
});
export type Suppression = z.infer<typeof Suppression>;

/** A suppression from its beginning to its end; `untilMs`: null: it lasts. */
export type SuppressionSpan = Suppression & { untilMs: number | null };

/** An alert that waits until what the check depends on has been looked at, too. */
export const PendingAlert = z.object({
  sinceMs: z.int(),
  /** The tick of the failed run; of a heartbeat: when it failed. */
  runAtMs: z.int(),
  /** When to ask again. */
  lookAtMs: z.int(),
  reason: z.string(),
  locations: z.array(z.string()),
});
export type PendingAlert = z.infer<typeof PendingAlert>;

/** Of a check's state. At most one is set. */
export const suppressionFields = {
  suppressed: Suppression.nullable(),
  pendingAlert: PendingAlert.nullable(),
};
