/** The sentinels of a fleet that run another image than the desired one, as people and programs see them. */
import { z } from "zod";

/**
 * drifted: it had the image and runs another one. late: its rollout had left it out, or did not come to it. joined: it
 * came after that rollout. failed: its deploy failed.
 */
export const driftCauses = ["drifted", "late", "joined", "failed"] as const;
export type DriftCause = (typeof driftCauses)[number];

export const OnDrift = z.enum(["report", "converge"]);
export type OnDrift = z.infer<typeof OnDrift>;

const DriftedSentinel = z.object({
  id: z.string(),
  region: z.string(),
  desired_image: z.string(),
  /** Empty: it runs none. */
  running_image: z.string(),
  why: z.enum(driftCauses),
  /** When the list was requested that showed it first. */
  since: z.iso.datetime(),
  /** The pin that keeps rollouts off it. Absent: none does. */
  held: z
    .object({ pin: z.string(), reason: z.string(), by: z.string(), since: z.string() })
    .optional(),
});
export type DriftedSentinel = z.infer<typeof DriftedSentinel>;

export const FleetDrift = z.object({
  on_drift: OnDrift,
  /** null: never yet. */
  checked_at: z.iso.datetime().nullable(),
  total: z.int(),
  /** The number of those that a pin holds. */
  held: z.int(),
  /** Those that drifted first come first: 1,000 at most. */
  sentinels: z.array(DriftedSentinel),
});
export type FleetDrift = z.infer<typeof FleetDrift>;
