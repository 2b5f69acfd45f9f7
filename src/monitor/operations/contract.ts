/** The operations on a check's object through the gateway. Times: ISO 8601, UTC. */
import { z } from "zod";
import { cleanText } from "#kernel/text.ts";
import { causes, grades } from "#monitor/contract.ts";

/** Both are keyed by the check's id; its `kind` decides which one a check has. */
export const apiCheckService = "vedette.v1.ApiCheck";
export const heartbeatService = "vedette.v1.Heartbeat";

const Empty = z.strictObject({}).meta({ title: "Empty request" });

const MuteRequest = z
  .strictObject({
    /** Absent: until it is unmuted. */
    until: z.iso.datetime().optional(),
  })
  .meta({ title: "MuteRequest", examples: [{ until: "2027-01-31T06:00:00Z" }] });

/** A text for people. Cleaned, since a character that Postgres refuses would block every write of the check. */
const note = (longest: number) =>
  z
    .string()
    .max(longest)
    .overwrite((text) => cleanText(text, longest).trim())
    .min(1);

const AcknowledgeRequest = z
  .strictObject({
    by: note(200),
    /** The alert to acknowledge; absent: the open one. */
    episode: z.int().optional(),
  })
  .meta({ title: "AcknowledgeRequest", examples: [{ by: "ada" }] });

const MaintenanceRequest = z
  .strictObject({ from: z.iso.datetime(), to: z.iso.datetime(), reason: note(500) })
  .meta({ title: "MaintenanceRequest" });

/** Mute, maintenance and the open alert of a check. */
export const AlertState = z.object({
  check: z.string(),
  muted_until: z.string().nullable(),
  /** The person who muted it; null: it is not muted. */
  muted_by: z.string().nullable(),
  maintenance: z.array(
    z.object({ from: z.string(), to: z.string(), reason: z.string(), by: z.string() }),
  ),
  alert: z
    .object({
      episode: z.int(),
      opened_at: z.string(),
      reason: z.string(),
      acknowledged_by: z.string().nullable(),
    })
    .nullable(),
});
export type AlertState = z.infer<typeof AlertState>;

/** An operator's operations on alerts, the same for API checks and heartbeats. */
export const operatorHandlers = {
  Mute: { input: MuteRequest, output: AlertState },
  Unmute: { input: Empty, output: AlertState },
  Acknowledge: { input: AcknowledgeRequest, output: AlertState },
  Maintenance: { input: MaintenanceRequest, output: AlertState },
  EndMaintenance: { input: Empty, output: AlertState },
} as const;
export type OperatorHandlerName = keyof typeof operatorHandlers;

const milliseconds = z.number().nullable();

/** A run on request: it alerts nobody and is not recorded. */
export const RunNowAnswer = z.object({
  check: z.string(),
  location: z.string(),
  started_at: z.string(),
  grade: z.enum(grades),
  cause: z.enum(causes).nullable(),
  reason: z.string().nullable(),
  status: z.int().nullable(),
  duration_ms: z.number(),
  dns_ms: milliseconds,
  connect_ms: milliseconds,
  tls_ms: milliseconds,
  first_byte_ms: milliseconds,
  transfer_ms: milliseconds,
  tls_days_left: z.int().nullable(),
});
export type RunNowAnswer = z.infer<typeof RunNowAnswer>;

/** The operations of API checks. `Run` runs the check now, at the program's own location. */
export const apiCheckHandlers = {
  ...operatorHandlers,
  Run: { input: Empty, output: RunNowAnswer },
} as const;

/** A SHA-256 in hex: the token itself is never sent here. */
const TokenHash = z.string().regex(/^[0-9a-f]{64}$/);

/** The operations of heartbeats. `Register` starts to expect pings, or replaces the token. */
export const heartbeatHandlers = {
  ...operatorHandlers,
  Register: {
    input: z.strictObject({ token_hash: TokenHash }).meta({ title: "RegisterRequest" }),
    output: z.object({
      check: z.string(),
      /** True if an earlier token was revoked. */
      replaced: z.boolean(),
      /** The start of the ping URL, up to the token; null: the address of control. */
      ping_url: z.string().nullable(),
    }),
  },
} as const;

const RunnerLocation = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, { error: "must be a short lower-case name such as fra" });

const Runner = z.object({
  location: z.string(),
  created_at: z.string(),
  /** The person who added it, or last replaced its token. */
  added_by: z.string(),
  /** The time of its last request; null: never. */
  seen_at: z.string().nullable(),
});

export const runnerService = "vedette.v1.MonitorRunners";

/** The runners that may report from further locations. Adding a location again revokes its earlier token. */
export const runnerHandlers = {
  Add: {
    input: z
      .strictObject({ location: RunnerLocation, token_hash: TokenHash })
      .meta({ title: "RunnerAddRequest" }),
    output: z.object({ location: z.string(), replaced: z.boolean() }),
  },
  Remove: {
    input: z
      .strictObject({ location: RunnerLocation })
      .meta({ title: "RunnerRemoveRequest", examples: [{ location: "fra" }] }),
    output: z.object({ location: z.string() }),
  },
  List: { input: Empty, output: z.object({ runners: z.array(Runner) }) },
} as const;

export type MonitorProblemCode =
  | "unknown_check"
  | "is_drill"
  | "drill_running"
  | "check_off"
  | "no_alert"
  | "other_alert"
  | "invalid_window"
  | "token_taken"
  | "location_taken"
  | "unknown_runner";
