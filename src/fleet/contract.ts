import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import { isClean } from "#kernel/text.ts";
import { isPersonal } from "#kernel/words.ts";
import { FleetDrift } from "./drift-contract.ts";

/** The default fleet's name, where one is asked for: that of the settings `[fleet]`. */
export const defaultFleet = "singleton";

/** The end of a command about the fleet. */
export function fleetOption(fleet: string): string {
  return fleet === defaultFleet ? "" : ` --fleet ${fleet}`;
}

/** The name of a fleet: `singleton`, or a name of the settings `[fleets]`. */
export const FleetName = z.string().regex(/^(?!.*__)[a-z][a-z0-9_-]{0,39}$/, {
  error: "must be the name of a fleet: lower-case letters, digits, dashes and single underscores",
});

/** A fleet that a request may name. */
export const fleetOrNone = (description: string) =>
  FleetName.optional().meta({ title: "Fleet", description });

/** The sentinel's id in Vedette. One of the default fleet has the id that its fleet gives it. */
export function qualifiedId(fleet: string, id: string): string {
  return fleet === defaultFleet ? id : `${fleet}:${id}`;
}

/** The one of these fleets that a sentinel's id in Vedette names; the default one if none. */
export function fleetOfSentinel(id: string, fleets: readonly string[]): string {
  const isOf = (name: string) => name !== defaultFleet && id.startsWith(qualifiedId(name, ""));
  return fleets.find(isOf) ?? defaultFleet;
}

/** The operators who may change a fleet, by name; undefined: all whose roles allow it. */
export type FleetOperators = { name: string; operators?: readonly string[] | undefined };

/** True if it is one of them. The ingress token, and who calls Restate without the gateway, may do everything. */
export function isOperatorOf({ operators }: FleetOperators, by: string): boolean {
  return operators === undefined || operators.includes(by) || !isPersonal(by);
}

/** Why the caller of this name may not change the fleet. */
export function notOperatorOf({ name }: FleetOperators, by: string): string {
  const setting = name === defaultFleet ? "fleet.operators" : `fleets.${name}.operators`;
  return `${by} is no operator of the fleet ${name} (${setting})`;
}

/** Characters: an id as its fleet gives it, after its fleet's name. */
export const maxSentinelId = 341;

/** By name: what a fleet says of a sentinel, for the choice of sentinels in rollouts. */
export type Labels = Record<string, string>;

/** The names that Kubernetes allows, which may have a prefix. */
export const LabelName = z.string().regex(/^[A-Za-z0-9][\w./-]{0,252}$/, {
  error: "must be a label's name: letters, digits, dots, dashes and slashes",
});
export const LabelValue = z
  .string()
  .max(63)
  .refine((text) => isClean(text, 63), {
    error: "must be one line of text, 63 characters at most",
  });

export const deployStatuses = ["progressing", "ready", "failed"] as const;
export const healths = ["healthy", "unhealthy", "unknown"] as const;

/** Stable codes of failed deploys. A reason is a code, mostly followed by `": "` and a sentence. */
export const reasonCodes = [
  "image_not_found",
  "image_auth",
  "image_platform",
  "registry_unavailable",
  "pull_backoff",
  "invalid_image",
  "crash_loop",
  "oom_killed",
  "start_error",
  "port_conflict",
  "probe_failing",
  "config_invalid",
  "unschedulable",
  "quota_exceeded",
  "progress_deadline",
  "conflict",
  "target_gone",
  "unreachable",
  "unauthorized",
  "cancelled",
  "timeout_unknown",
] as const;
export type ReasonCode = (typeof reasonCodes)[number];

export function reasonCodeOf(reason: string): ReasonCode | undefined {
  const [word = ""] = /^\w*/.exec(reason) ?? [];
  return reasonCodes.find((code) => code === word);
}

export function hasReasonCode(reason: string): boolean {
  return reasonCodeOf(reason) !== undefined;
}

/** The error codes of the fleet's handlers, besides the common ones. */
export type FleetProblemCode =
  | "fleet_list_refused"
  | "fleet_list_changed"
  | "unknown_fleet"
  | "unknown_sentinel";

export const FleetListRequest = z
  .strictObject({
    fleet: fleetOrNone("Without it the default fleet."),
    limit: z.int().min(1).max(1_000).default(100),
    /** The id after which the page begins, as the page before gave it. */
    cursor: z
      .string()
      .refine((id) => isClean(id, maxSentinelId), {
        error: "must be the next_cursor of the page before",
      })
      .optional(),
  })
  .meta({ title: "FleetListRequest", examples: [{ limit: 100 }] });

export const FleetList = z.object({
  sentinels: z.array(
    z.object({
      id: z.string(),
      region: z.string(),
      image: z.string(),
      running_image: z.string(),
      previous_image: z.string().nullable(),
      deploy_status: z.enum(deployStatuses),
      deploy_reason: z.string().nullable(),
      health: z.enum(healths),
      /** The labels that the fleet lists. */
      labels: z.record(z.string(), z.string()).optional(),
      updated_at: z.string(),
    }),
  ),
  /** Absent on the last page. */
  next_cursor: z.string().optional(),
  /** Why the fleet's newest list was not accepted; these sentinels may be out of date then. */
  list_problem: z.string().optional(),
  /** The operator who last confirmed a list that lacked many sentinels. Absent: nobody. */
  list_confirmed: z.object({ by: z.string(), at: z.iso.datetime() }).optional(),
});
export type FleetList = z.infer<typeof FleetList>;

/** A row of the table `sentinels`. `image` is the desired one, `running_image` the observed one. */
export type Sentinel = FleetList["sentinels"][number];

/** The fields of a sentinel that a rollout needs. */
export type FleetMember = Pick<
  Sentinel,
  "id" | "region" | "image" | "running_image" | "health" | "labels"
>;

export const ConfirmListRequest = z
  .strictObject({
    fleet: fleetOrNone("Without it the default fleet."),
    count: z.int().min(0).max(1_000_000).meta({
      description: "How many sentinels the fleet lists now.",
    }),
  })
  .meta({ title: "ConfirmListRequest", examples: [{ count: 3 }] });

export const SentinelLogRequest = z
  .strictObject({
    sentinel: z
      .string()
      .min(1)
      .refine((id) => isClean(id, maxSentinelId), { error: "must be a sentinel's id" })
      .meta({ title: "Sentinel", description: "The sentinel's id, as List has it." }),
    which: z.enum(["failed", "running"]).default("failed").meta({
      description: "What its newest failed deploy had started, or what runs there now.",
    }),
  })
  .meta({ title: "SentinelLogRequest", examples: [{ sentinel: "gw-eu-1", which: "failed" }] });

export const SentinelLog = z.object({
  sentinel: z.string(),
  /** The image that printed the lines. */
  image: z.string(),
  /** The oldest first; without control characters, and without what looks like a secret. */
  lines: z.array(z.string()),
  /** The time at which they were read. Absent: nothing was read. */
  at: z.iso.datetime().optional(),
  /** Only of a failed deploy: why it failed. */
  reason: z.string().optional(),
  /** Why there are no lines, or what they lack. */
  note: z.string().optional(),
  /** Only without lines: sentinels that failed with this image in the same way, whose lines are kept. */
  similar: z.array(z.string()).optional(),
});
export type SentinelLog = z.infer<typeof SentinelLog>;

export const FleetDriftRequest = z
  .strictObject({ fleet: fleetOrNone("Without it the default fleet.") })
  .meta({ title: "FleetDriftRequest", examples: [{}] });

/** `total`: sentinels that are known now. */
export const ConfirmedList = z.object({ total: z.int() });

/** The fleet as a whole. */
export const fleetService = iface.service("vedette.v1.FleetService", {
  List: iface.schemas({
    input: FleetListRequest,
    output: FleetList,
    description: "A fleet's sentinels, ordered by id, with the state of their last deploy.",
  }),
  Drift: iface.schemas({
    input: FleetDriftRequest,
    output: FleetDrift,
    description: "The sentinels that run another image than the desired one, since when and why.",
  }),
  ConfirmList: iface.schemas({
    input: ConfirmListRequest,
    output: ConfirmedList,
    description:
      "Accepts the fleet's list although it lacks many sentinels, if it has `count` now.",
  }),
  Log: iface.schemas({
    input: SentinelLogRequest,
    output: SentinelLog,
    description: "The last lines of a sentinel's log: of its newest failed deploy, or as of now.",
  }),
});
