/** What the server and the page say to each other, and what the console needs of whoever serves it. */
import type { FastifyPluginAsync } from "fastify";
import { z } from "zod";
import { isClean } from "#kernel/clean-text.ts";
import { operations, RolloutRequest, rolloutStates } from "#rollout/contract.ts";
import { Progress, RolloutDetail } from "#rollout/history/contract.ts";
import { RoutesStatus } from "#routing/incident/contract.ts";

/** What the gateway lends the console: who someone is, and the way to Restate. */
export type ConsoleAccess = {
  /** The name that belongs to a token; undefined: to nobody. */
  identify: (token: string) => string | undefined;
  /** Per name a mark that changes with its token. */
  tokenMarks: ReadonlyMap<string, string>;
  /** Secret, the same in every process that has the same ingress token. */
  sessionKey: Uint8Array;
  /** Calls a handler as `actor`. Throws the refusal, a `ProblemError`. */
  call: (call: ConsoleCall) => Promise<unknown>;
};

type ConsoleCall = {
  path: string;
  body: unknown;
  actor: string;
  /** Absent for a call that only reads. */
  idempotencyKey?: string;
  /** Whether the answer may take hours. */
  blocks?: boolean;
  signal?: AbortSignal;
};

export type ConsolePlugin = (access: ConsoleAccess) => FastifyPluginAsync;

export const consolePath = "/console";

/** Below it, the stream of events. */
export const livePath = "/api/live";

export const SignIn = z.strictObject({ token: z.string().trim().min(1).max(512) });

export const Session = z.object({
  /** The operator's name, `ingress-token` for the shared one. */
  actor: z.string(),
  /** To be sent with every write as `x-csrf-token`. */
  csrf: z.string(),
  ends_at: z.string(),
});
export type Session = z.infer<typeof Session>;

/**
 * How a sentinel stands in the rollout that is shown: one letter each, for ten thousand of them.
 * w waits, p progressing, s succeeded, f failed, r reverted, n not reverted, o not part of it and
 * well, x not part of it and its last deploy failed.
 */
const sentinelMarks = ["w", "p", "s", "f", "r", "n", "o", "x"] as const;
export type SentinelMark = (typeof sentinelMarks)[number];

/** The fleet in columns, ordered by region and id. */
export const FleetColumns = z.object({
  /** The rollout that the marks are about; null: there never was one. */
  rollout_id: z.string().nullable(),
  regions: z.array(z.object({ name: z.string(), size: z.int() })),
  ids: z.array(z.string()),
  /** One mark per sentinel, in the order of `ids`. */
  marks: z.string(),
  /** From 1; 0: not part of the rollout. */
  waves: z.array(z.int()),
  /** By the sentinel's index, only where there is one. */
  reasons: z.record(z.string(), z.string()),
});
export type FleetColumns = z.infer<typeof FleetColumns>;

/**
 * What has changed in the columns. Small, because thousands of sentinels change in every look: those that
 * now stand alike are one group.
 */
export const FleetChanges = z.object({
  /** A mark, a wave, and whose: in turns how many sentinels are passed over and how many follow. */
  groups: z.array(z.tuple([z.enum(sentinelMarks), z.int(), z.array(z.int())])),
  /** By the sentinel's index, where it has changed; null: there is none any more. */
  reasons: z.record(z.string(), z.string().nullable()),
});
export type FleetChanges = z.infer<typeof FleetChanges>;

/** The rollout that is shown live. */
export const LiveRollout = RolloutDetail.extend({
  /** What may be called now, by the table of transitions. */
  legal: z.array(z.enum(operations)),
  /** Results per second over the last moments. */
  per_second: z.number(),
});
export type LiveRollout = z.infer<typeof LiveRollout>;

/** Parts that could not be asked, with what they said; empty when all is well. */
export const Trouble = z.array(z.object({ part: z.string(), detail: z.string() }));
export type Trouble = z.infer<typeof Trouble>;

/**
 * The events of the stream, by name. Every one replaces what the one before it said, but `progress`, the
 * parts of the rollout that have changed, and `marks`. Whoever comes, or missed too much, gets the whole.
 */
const liveEvents = {
  rollout: LiveRollout,
  progress: LiveRollout.partial(),
  fleet: FleetColumns,
  marks: FleetChanges,
  trouble: Trouble,
  beat: z.object({ now: z.string() }),
} as const;
export type LiveEventName = keyof typeof liveEvents;

/** What someone saw when deciding: a write is refused when things have moved on since. */
const Expectation = z.strictObject({
  rollout_id: z.string().nullable(),
  state: z.enum(rolloutStates),
});

export const StartOrder = RolloutRequest.extend({ expect: Expectation });
export const OperationOrder = z.strictObject({ expect: Expectation });

/** A sentinel as its row has it, and its part in the rollout that is shown. */
export const SentinelDetail = z.object({
  id: z.string(),
  region: z.string(),
  image: z.string(),
  running_image: z.string(),
  previous_image: z.string().nullable(),
  deploy_status: z.string(),
  deploy_reason: z.string().nullable(),
  health: z.string(),
  updated_at: z.string(),
  wave: z.int().nullable(),
  outcome: z.string().nullable(),
  outcome_reason: z.string().nullable(),
});
export type SentinelDetail = z.infer<typeof SentinelDetail>;

/** A past rollout: its detail, its sentinels, and how the results came in over time. */
export const PastRollout = z.object({
  detail: RolloutDetail,
  fleet: FleetColumns,
  progress: Progress,
});
export type PastRollout = z.infer<typeof PastRollout>;

/** Which alert to try; without labels it is one that carries none. */
export const SimulationRequest = z.strictObject({
  source: z.string().min(1).max(200),
  labels: z.record(z.string().max(200), z.string().max(200)).default({}),
});

const Verdict = z.object({
  route: z.string(),
  matches: z.boolean(),
  because: z.string(),
  escalation: z.string().nullable(),
  channel: z.string(),
});

/** Alert routes: what they do with one alert, what they mean for checks, and whether they are in force. */
export const RoutingView = z.object({
  /** null: nobody can be asked, for the reason beside it. */
  sync: RoutesStatus.pick({
    applying: true,
    last_apply: true,
    drift: true,
    next_check_at: true,
  }).nullable(),
  sync_trouble: z.string().nullable(),
  sources: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      environment: z.string().nullable(),
      labels: z.record(z.string(), z.array(z.string())),
    }),
  ),
  /** Whom a failing check pages, and which channels get it. */
  checks: z.array(
    z.object({
      check: z.string(),
      channel: z.string().nullable(),
      source: z.string().nullable(),
      pages: z.array(z.string()),
      channels: z.array(z.string()),
    }),
  ),
  simulation: z.object({
    source: z.string(),
    labels: z.record(z.string(), z.string()),
    routes: z.array(Verdict),
    pages: z.array(z.string()),
    channels: z.array(z.string()),
  }),
});
export type RoutingView = z.infer<typeof RoutingView>;

export const KeyUsageRequest = z.strictObject({
  /** Absent: the oldest workspace. */
  workspace_id: z
    .string()
    .refine((id) => isClean(id, 200), "must be a workspace's id")
    .optional(),
  hours: z.int().min(1).max(2_160).default(24),
});

/** Verifications by outcome over time. */
export const KeyUsage = z.object({
  /** false: this program reads no analytics; the rest is then empty. */
  is_recorded: z.boolean(),
  workspace_id: z.string().nullable(),
  workspaces: z.array(z.object({ id: z.string(), name: z.string() })),
  from: z.string(),
  to: z.string(),
  bucket_seconds: z.int(),
  apis: z.array(
    z.object({
      name: z.string(),
      key_space_id: z.string(),
      keys: z.int(),
      /** By outcome, over the whole time. */
      outcomes: z.record(z.string(), z.int()),
    }),
  ),
  /** Buckets with nothing in them are left out. */
  points: z.array(z.object({ at: z.string(), outcomes: z.record(z.string(), z.int()) })),
});
export type KeyUsage = z.infer<typeof KeyUsage>;
