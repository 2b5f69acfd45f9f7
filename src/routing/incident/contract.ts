/** Alert routes kept in step with the incident service: plans, and what became of them. */
import { z } from "zod";

export type Json = z.infer<typeof Json>;
const Json = z.json();

/** What a route says: a JSON object in the shape in which the service is told of it. */
export const Content = z.record(z.string(), Json);
export type Content = z.infer<typeof Content>;

/** A field that means something else. null: it is not there, or has its preset. */
export const FieldChange = z.object({ path: z.string(), before: Json, after: Json });
export type FieldChange = z.infer<typeof FieldChange>;

export const ThreeWayChange = z.object({
  path: z.string(),
  by: z.enum(["someone else", "us", "both", "both alike"]),
  base: Json,
  theirs: Json,
  ours: Json,
});
export type ThreeWayChange = z.infer<typeof ThreeWayChange>;

export const RoutePlan = z.object({
  name: z.string().min(1),
  action: z.enum(["create", "update", "none"]),
  /** At the incident service; null: there is no route of this name. */
  id: z.string().min(1).nullable(),
  /** What was there when the plan was made; null: nothing. */
  base: z.object({ version: z.int(), digest: z.string(), content: Content }).nullable(),
  /** What the route is to say, without the fields that we say nothing about. */
  declared: Content,
  changes: z.array(FieldChange),
});
export type RoutePlan = z.infer<typeof RoutePlan>;

/** A name that several routes bear: each of them takes the same alerts, so that people are told twice. */
export const SharedName = z.object({
  name: z.string(),
  ids: z.array(z.string()),
  /** The id of that which is ours; null: none is known to be. */
  ours: z.string().nullable(),
  /** What to do about it, for people. */
  advice: z.string(),
});
export type SharedName = z.infer<typeof SharedName>;

export const Plan = z.object({
  format: z.literal("vedette-alert-plan-1"),
  /** A plan is for one incident service. */
  incident_url: z.string(),
  made_at: z.iso.datetime(),
  /** `backup`: it puts back what was there once, whoever's it is. */
  of: z.enum(["routes", "backup"]),
  routes: z.array(RoutePlan).max(500),
  /** Routes of ours that are no rows any more. */
  orphans: z.array(z.string()),
  doubled: z.array(SharedName).default([]),
  /** What ids are called, for people. */
  names: z.record(z.string(), z.string()),
});
export type Plan = z.infer<typeof Plan>;

export const Backup = z.object({
  format: z.literal("vedette-alert-backup-1"),
  incident_url: z.string(),
  made_at: z.iso.datetime(),
  /** As they were read, with id and version. */
  alert_routes: z.array(Content),
});
export type Backup = z.infer<typeof Backup>;

export const ApplyRequest = z.strictObject({
  plan: Plan,
  /** Takes over routes that have the name of one of ours. */
  adopt: z.boolean().default(false),
  /** Disables our routes that are no rows any more; those that it has disabled before are deleted. */
  prune: z.boolean().default(false),
});
export type ApplyRequest = z.infer<typeof ApplyRequest>;

/**
 * `conflict`: someone else has changed it since the plan, nothing was written over; `not_ours`: it was
 * there before us and was not adopted; `failed`: the service refused, or was away for too long.
 */
const outcomes = [
  "created",
  "updated",
  "in_step",
  "disabled",
  "deleted",
  "conflict",
  "not_ours",
  "failed",
] as const;

export const RouteResult = z.object({
  name: z.string(),
  outcome: z.enum(outcomes),
  id: z.string().nullable(),
  /** Why it stopped; absent when all is well. */
  message: z.string().optional(),
  difference: z.array(ThreeWayChange).optional(),
  /** What the service keeps otherwise than it was told: from what is there to what was wanted. */
  differs: z.array(FieldChange).optional(),
});
export type RouteResult = z.infer<typeof RouteResult>;

const applyFields = {
  apply_id: z.string(),
  started_at: z.iso.datetime(),
  /** How many routes there are to look at. */
  total: z.int(),
  routes: z.array(RouteResult),
  /** What was there before, as `Backup` answers it; null: nothing was to be written. */
  backup: z.string().nullable(),
};

/** `stopped`: at least one route is not as planned; the others are. */
export const ApplyResult = z.object({
  ...applyFields,
  outcome: z.enum(["applied", "stopped"]),
  /** As far as lists show it; the look for drift goes on. */
  doubled: z.array(SharedName).default([]),
  ended_at: z.iso.datetime(),
});
export type ApplyResult = z.infer<typeof ApplyResult>;

/** A route of ours: who else changed it is seen by what we have said last. */
export const OwnedRoute = z.object({
  id: z.string(),
  /** What we have said last. */
  declared: Content,
  /** Of all that it said when we disabled it because it is no row any more; null: we have not. */
  disabled_digest: z.string().nullable(),
});
export type OwnedRoute = z.infer<typeof OwnedRoute>;

/** `not_applied`: the row has changed, the route has not; the others are what someone else did. */
const DriftedRoute = z.object({
  name: z.string(),
  why: z.enum(["changed", "deleted", "not_applied"]),
  /** From what is there to what the row says; the first 50. Absent when there is nothing to compare. */
  changes: z.array(FieldChange).optional(),
});

export const DriftReport = z.object({
  checked_at: z.iso.datetime(),
  /** `unknown`: the service could not be asked, for the reason given. */
  state: z.enum(["in_step", "drifted", "unknown"]),
  /** Those that differ from their rows. */
  routes: z.array(DriftedRoute),
  doubled: z.array(SharedName).default([]),
  reason: z.string().optional(),
});
export type DriftReport = z.infer<typeof DriftReport>;

export const RoutesStatus = z.object({
  /** The apply at work. */
  applying: z.object(applyFields).nullable(),
  last_apply: ApplyResult.nullable(),
  drift: DriftReport.nullable(),
  /** When drift is looked for next; null: it is not. */
  next_check_at: z.iso.datetime().nullable(),
  owned: z.record(z.string(), OwnedRoute),
  /** By name, routes that an apply was about to make and said no more of: since when. */
  creations: z.record(z.string(), z.object({ begun_at: z.iso.datetime() })).default({}),
});
export type RoutesStatus = z.infer<typeof RoutesStatus>;

export const alertRoutesName = "vedette.v1.AlertRoutes";
export const alertRoutesKey = "singleton";

const Nothing = z.strictObject({}).meta({ title: "Empty request" });

const BackupRequest = z.strictObject({ backup: z.string().min(1).max(100) });

/** Newest first. */
const BackupList = z.object({
  backups: z.array(
    z.object({ backup: z.string(), made_at: z.iso.datetime(), alert_routes: z.int() }),
  ),
});

export type BackupList = z.infer<typeof BackupList>;

/** What control lets through, by handler. `Apply` answers when it has come to its end. */
export const alertRoutesHandlers = {
  Status: { input: Nothing, output: RoutesStatus },
  Apply: { input: ApplyRequest, output: ApplyResult },
  Backups: { input: Nothing, output: BackupList },
  Backup: { input: BackupRequest, output: Backup },
} as const;

export type AlertRoutesProblemCode =
  | "incident_not_configured"
  | "other_incident_service"
  | "already_applying"
  | "apply_lost"
  | "unknown_backup";
