/** The status of everything for the person on call, in one answer. Times: ISO 8601, UTC. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import { AlertEventView } from "#alerts/contract.ts";
import { FleetOverview } from "#fleet/overview/contract.ts";
import { CheckView } from "#monitor/results/contract.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { Troubled } from "#worker/contract.ts";

/** Milliseconds: a fleet is listed every minute, if nothing else is set; a list may take five. */
export const oldListMs = 600_000;

const Wrong = z.object({
  about: z.enum(["sentinels", "alert", "rollout", "delivery", "engine", "fleet_list", "checks"]),
  /** Absent: it is about no single fleet. */
  fleet: z.string().optional(),
  /** The id of an alert's check. */
  check: z.string().optional(),
  text: z.string(),
  /** The command that says more. */
  next: z.string(),
});
export type Wrong = z.infer<typeof Wrong>;

export const StatusView = z.object({
  taken_at: z.string(),
  /** Sorted by how it hurts customers, worst first; empty: nothing is wrong. */
  wrong: z.array(Wrong),
  /** The default one first. `sentinels` of `overview`: those that are down, 20 at most. */
  fleets: z.array(z.object({ name: z.string(), rollout: RolloutStatus, overview: FleetOverview })),
  /** Checks and heartbeats with an open alert. */
  alerts: z.array(CheckView.omit({ strip: true })),
  /** Dead letters of the last 24 hours, and events whose last attempt failed; the newest 100 of each. */
  deliveries: z.array(AlertEventView),
  /** Invocations that a pause or ten failed attempts keep from their end, the longest first. */
  stuck: z.array(Troubled),
  /** Number of checks and heartbeats with each status. */
  checks: z.partialRecord(CheckView.shape.status, z.int()),
});
export type StatusView = z.infer<typeof StatusView>;

const StatusRequest = z.strictObject({}).meta({ title: "StatusRequest", examples: [{}] });
export const statusHandlers = { Read: { input: StatusRequest, output: StatusView } } as const;

export const statusReads = iface.service("vedette.v1.StatusReads", {
  Read: iface.schemas(statusHandlers.Read),
});
