/** The list of checks, and what it is searched by. Times: ISO 8601, UTC. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { SuspectView } from "#blame/contract.ts";
import { checkStatuses, grades } from "#monitor/contract.ts";
import { Description, kindNames } from "#monitor/kinds/contract.ts";
import { checkId } from "#monitor/replay-contract.ts";

export const Mark = z.object({
  rollout_id: z.string(),
  fleet: z.string(),
  image: z.string(),
  wave: z.int(),
  /** Absent: it was in progress. */
  ended_at: z.string().optional(),
});

/** A piece of a strip; `grade` is the worst in it, null without results. */
const StripPiece = z.object({
  starts_at: z.string(),
  grade: z.enum(grades).nullable(),
  runs: z.int(),
  failed_runs: z.int(),
});

/** The kinds of monitors: API checks, and heartbeats. */
export const checkKinds = ["api", "heartbeat"] as const;

export const CheckView = z.object({
  id: z.string(),
  kind: z.enum(checkKinds),
  name: z.string(),
  environment: z.enum(environments),
  /** The environment whose alert source at the incident service is notified; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Whom it notifies: `channel`, and the ids of further channels. */
  channels: z.array(z.string()),
  /** Why its alerts reach nobody. Absent: they leave this program. */
  reaches_nobody: z.string().optional(),
  status: z.enum(checkStatuses),
  /** The settings without which an API check, or the job of a heartbeat, is off. Absent: a heartbeat that is not off. */
  missing_settings: z.array(z.string()).optional(),
  since: z.string().nullable(),
  /** While this one fails, it alerts nobody. */
  suppressed_by: z.string().nullable(),
  /** Why it is not ok, if known. */
  reason: z.string().nullable(),
  /** The last run or ping. */
  last_at: z.string().nullable(),
  last_duration_ms: z.number().nullable(),
  /** The deadline of a heartbeat that has not failed. */
  due_at: z.string().nullable(),
  alert: z
    .object({
      episode: z.int(),
      opened_at: z.string(),
      acknowledged_by: z.string().nullable(),
      rollout: Mark.nullable(),
      /** Changes that may be the cause, the likeliest first; absent: they were not found out in time. */
      changes: z.array(SuspectView).optional(),
    })
    .nullable(),
  /** The end of mute or maintenance; null: an alert may open. */
  quiet_until: z.string().nullable(),
  /** The operator who muted it, or added the window; null: nobody. */
  quiet_by: z.string().nullable(),
  /** The locations of the last runs; a silent one has not reported the last run. Empty in a search. */
  locations: z.array(
    z.object({
      location: z.string(),
      status: z.enum([...grades, "silent"]),
      reported_at: z.string(),
      duration_ms: z.number(),
      reason: z.string().nullable(),
    }),
  ),
  /** The fewest days left of the certificates seen. */
  tls_days_left: z.int().nullable(),
  rule: z.discriminatedUnion("kind", [
    z.object({
      kind: z.literal("api"),
      check_kind: z.enum(kindNames),
      ...Description.shape,
      frequency_seconds: z.int(),
      degraded_above_ms: z.int(),
      failed_above_ms: z.int(),
      /** The number of its locations at the hosted monitor; our own are in `locations`. */
      hosted_locations: z.int(),
    }),
    z.object({
      kind: z.literal("heartbeat"),
      watches: z.string(),
      period_seconds: z.int(),
      cron: z.string().optional(),
      grace_seconds: z.int(),
      /** Only of a drill: what it tests, and how long the channels have. */
      drill: z.object({ channels: z.array(z.string()), grace_seconds: z.int() }).optional(),
    }),
  ]),
  /** Percent, last 24 hours: of runs that did not fail; for a heartbeat, of time without an alert. */
  uptime_24h: z.number().nullable(),
  /** The last 24 hours in pieces of 15 minutes, oldest first. Empty: there are more than 1,000 checks, or `bars`. */
  strip: z.array(StripPiece),
  /** The grades of the strip, a letter each: `o`k, `d`egraded, `f`ailed, `-` without results. Of a search. */
  bars: z.string().optional(),
});
export type CheckView = z.infer<typeof CheckView>;

const CountOfKinds = z.record(z.enum(checkKinds), z.int());

export const CheckList = z.object({
  taken_at: z.string(),
  /** Why no alert of any check leaves this program. Absent: some do. */
  reaches_nobody: z.string().optional(),
  checks: z.array(CheckView),
  /** Of a search: how many it finds; the others are of all checks. A status that none has is left out. */
  counts: z
    .object({
      total: CountOfKinds,
      found: CountOfKinds,
      statuses: z.partialRecord(z.enum(checkStatuses), z.int()),
      alerts: z.int(),
    })
    .optional(),
});
export type CheckList = z.infer<typeof CheckList>;

/** Without a field, all checks in the order of the definitions. All other fields but `ids` make it a search. */
export const CheckListRequest = z
  .strictObject({
    /** These checks, as they stand now: alone, or besides those that the search finds. */
    ids: z.array(checkId).max(100).optional(),
    kind: z.enum(checkKinds).optional(),
    /** A part of the name or the id. */
    search: z.string().max(200).optional(),
    status: z.enum(checkStatuses).optional(),
    /** Of each kind, the worst first; by default 50. */
    limit: z.int().min(1).max(400).optional(),
  })
  .meta({ title: "CheckListRequest", examples: [{}, { kind: "api", status: "failed" }] });
export type CheckListRequest = z.infer<typeof CheckListRequest>;
