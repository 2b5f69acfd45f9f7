/** The sync of alert routes with the incident service: plans, results of applies, drift. */
import { z } from "zod";
import { listOf } from "#kernel/setting.ts";

export type Json = z.infer<typeof Json>;
const Json = z.json();

/** The content of a route: a JSON object in the shape in which it is written to the service. */
export const Content = z.record(z.string(), Json);
export type Content = z.infer<typeof Content>;

/** A field that differs in meaning. null: it is absent, or has its default. */
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
  /** Id at the incident service; null: there is no route of this name. */
  id: z.string().min(1).nullable(),
  /** The route when the plan was made; null: there was none. */
  base: z.object({ version: z.int(), digest: z.string(), content: Content }).nullable(),
  /** The wanted content, without the fields that Vedette does not manage. */
  declared: Content,
  /** Operations, by the subject of a declared condition, that mean the same for its type. */
  aliases: z.record(z.string(), z.array(z.string()).max(1_000)).optional(),
  changes: z.array(FieldChange).max(10_000),
});
export type RoutePlan = z.infer<typeof RoutePlan>;

/** A name that several routes have: each takes the same alerts, so people are notified several times. */
export const SharedName = z.object({
  name: z.string(),
  ids: z.array(z.string()).max(10_000),
  /** The id of the route that is ours; null: none is known to be. */
  ours: z.string().nullable(),
  /** The next step, for people. */
  advice: z.string(),
});
export type SharedName = z.infer<typeof SharedName>;

export const Plan = z.object({
  format: z.literal("vedette-alert-plan-1"),
  /** A plan is for one incident service. */
  incident_url: z.string(),
  made_at: z.iso.datetime(),
  /** `backup`: it restores routes from a backup, also those that are not ours. */
  of: z.enum(["routes", "backup"]),
  routes: listOf(RoutePlan, 500),
  /** Routes of ours whose row is gone. */
  orphans: z.array(z.string()).max(10_000),
  doubled: listOf(SharedName, 1_000).default([]),
  /** The name of each id, for people. */
  names: z.record(z.string(), z.string()),
});
export type Plan = z.infer<typeof Plan>;

export const Backup = z.object({
  format: z.literal("vedette-alert-backup-1"),
  incident_url: z.string(),
  made_at: z.iso.datetime(),
  /** The routes as they were read, with id and version. */
  alert_routes: z.array(Content),
});
export type Backup = z.infer<typeof Backup>;

export const ApplyRequest = z.strictObject({
  plan: Plan,
  /** Takes over routes that have the name of one of ours. */
  adopt: z.boolean().default(false),
  /** Disables routes of ours whose row is gone; deletes those that an earlier apply has disabled. */
  prune: z.boolean().default(false),
});
export type ApplyRequest = z.infer<typeof ApplyRequest>;

/** `conflict`: changed since the plan, not overwritten; `not_ours`: not adopted; `failed`: refused, or unavailable. */
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
  /** The fields that the service stored differently: from the present value to the wanted one. */
  differs: z.array(FieldChange).optional(),
});
export type RouteResult = z.infer<typeof RouteResult>;

const applyFields = {
  apply_id: z.string(),
  by: z.string(),
  started_at: z.iso.datetime(),
  /** Number of routes that the apply processes. */
  total: z.int(),
  routes: z.array(RouteResult),
  /** The name under which `Backup` returns the routes as they were before; null: no write was needed. */
  backup: z.string().nullable(),
};

/** `stopped`: at least one route is not as planned; the others are. */
export const ApplyResult = z.object({
  ...applyFields,
  outcome: z.enum(["applied", "stopped"]),
  /** Names shared by several routes, as far as lists show them by then; later drift checks report the others. */
  doubled: z.array(SharedName).default([]),
  ended_at: z.iso.datetime(),
});
export type ApplyResult = z.infer<typeof ApplyResult>;

/** A route of ours. Comparing it with what we wrote last shows changes by others. */
export const OwnedRoute = z.object({
  id: z.string(),
  /** The content that we wrote last. */
  declared: Content,
  /** The digest of its content when we disabled it because its row was gone; null: we have not. */
  disabled_digest: z.string().nullable(),
});
export type OwnedRoute = z.infer<typeof OwnedRoute>;

/** `not_applied`: the row has changed, the route has not; the others are changes by someone else. */
const DriftedRoute = z.object({
  name: z.string(),
  why: z.enum(["changed", "deleted", "not_applied"]),
  /** Changes from the present value to the row's; the first 50. Absent when there is nothing to compare. */
  changes: z.array(FieldChange).optional(),
});

export const DriftReport = z.object({
  checked_at: z.iso.datetime(),
  /** `unknown`: the routes could not be compared, for the reason given. */
  state: z.enum(["in_step", "drifted", "unknown"]),
  routes: z.array(DriftedRoute),
  doubled: z.array(SharedName).default([]),
  reason: z.string().optional(),
});
export type DriftReport = z.infer<typeof DriftReport>;

export const RoutesStatus = z.object({
  applying: z.object(applyFields).nullable(),
  last_apply: ApplyResult.nullable(),
  drift: DriftReport.nullable(),
  /** The time of the next drift check; null: there are none. */
  next_check_at: z.iso.datetime().nullable(),
  owned: z.record(z.string(), OwnedRoute),
  /** Routes, by name, that an apply was about to create, with an unknown outcome. */
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

/** The handlers that `control` lets through. `Apply` answers when the apply has ended. */
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
