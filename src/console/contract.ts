/** The messages between the server and the page, and the access that the gateway gives the console. */
import type { FastifyPluginAsync } from "fastify";
import { z } from "zod";
import { type Caller, Role } from "#kernel/roles.ts";
import { isClean } from "#kernel/text.ts";
import { operations, rolloutStates } from "#rollout/contract.ts";
import { type Progress, RolloutDetail } from "#rollout/history/contract.ts";
import { RoutesStatus } from "#routing/incident/contract.ts";

/** The gateway's functions for the console: identify operators, and call Restate. */
export type ConsoleAccess = {
  /** The caller of a token; undefined for an unknown one. A session of the command line is no token. */
  identify: (token: string) => Caller | undefined;
  /** The callers by name, with a mark that changes with the token and the roles. */
  callers: ReadonlyMap<string, Caller & { mark: string }>;
  /** Secret, the same in every process that has the same ingress token. */
  sessionKey: Uint8Array;
  /** Signing in at an identity provider; absent: people have tokens only. */
  provider?: ProviderAccess;
  /** The handler of the allow-list at a path, with the role that a call of it takes; undefined: there is none. */
  findHandler: (path: string) => ConsoleHandler | undefined;
  /** Calls a handler in the name of `by`, if it may. Throws the refusal, a `ProblemError`. */
  call: (call: ConsoleCall) => Promise<unknown>;
};

/** Signing in at an identity provider. What is refused is a `ProblemError` that the person can read. */
export type ProviderAccess = {
  /** The provider's host, for people. */
  host: string;
  /** `flow`: sealed secrets, which the browser keeps until it comes back. */
  begin: (begin: {
    redirectUri: string;
    /** The address to which the browser goes in the end. */
    returnTo: string;
    remote: string;
  }) => Promise<{ url: string; flow: string }>;
  /** Reads the address and the state of a flow; undefined: it has expired, or there is none. */
  read: (flow: string) => { returnTo: string; state: string } | undefined;
  /** The session, for the query with which the browser came back. */
  finish: (end: { flow: string; query: string; remote: string }) => Promise<ProviderSession>;
  /** The caller of such a session now; undefined: it has ended because the settings, or the account's name, have changed. */
  find: (session: ProviderSession) => Promise<Caller | undefined>;
  /** The caller of a token, with the accounts that are the same person's. Absent: accounts are not compared. */
  link?: (caller: Caller) => Promise<Caller>;
};

type ProviderSession = {
  id: string;
  actor: string;
  subject?: string | undefined;
  roles: Role[];
  mark: string;
  endsAtMs: number;
};

type ConsoleHandler = { input: z.ZodType; isWrite: boolean; blocks: boolean; role: Role };

type ConsoleCall = {
  path: string;
  body: unknown;
  by: Caller;
  /** The address of the browser, for the audit log. */
  remote?: string;
  /** Absent for a call that only reads. */
  idempotencyKey?: string;
  /** True if the answer may take hours. */
  blocks?: boolean;
  signal?: AbortSignal;
};

export type ConsolePlugin = (access: ConsoleAccess) => FastifyPluginAsync;

export const consolePath = "/console";

/** Below it, the stream of events. Pages of before had others, at `/api/live`: they say that they are not live. */
export const livePath = "/api/events";

export const SignIn = z.strictObject({ token: z.string().trim().min(1).max(512) });

/** The length of the random part of a link that signs in: too many bytes to be guessed in its time. */
export const ticketBytes = 16;

/** The time in which such a link signs somebody in. */
export const ticketMinutes = 5;

/** The console's address, for a caller with a token: `vedette console`. */
export const ConsoleLink = z.object({
  /** The setting; empty: the address at which the caller has found `control`. */
  public_url: z.union([z.literal(""), z.url({ protocol: /^https?$/ })]),
  /** Signs in as the ingress token does; null: the token is another one, or people sign in at a provider. */
  ticket: z.base64url().nullable(),
  provider: z.string().nullable(),
});
export type ConsoleLink = z.infer<typeof ConsoleLink>;

export const TicketSignIn = z.strictObject({ ticket: z.base64url().length(22) });

/** The ways to sign in, before anybody has. */
export const SignInChoice = z.object({
  /** The host of the identity provider; null: there is only a field for a token. */
  provider: z.string().nullable(),
  /** Why the last sign-in at the provider did not succeed. */
  trouble: z.string().nullable(),
});
export type SignInChoice = z.infer<typeof SignInChoice>;

/** Begins a sign-in at the provider; the answer is the address at which it goes on. */
export const ProviderSignIn = z.strictObject({ return_to: z.string().max(2_000) });

export const Session = z.object({
  /** The operator's name, `ingress-token` for the shared one. */
  actor: z.string(),
  roles: z.array(Role),
  /** The names of the fleets, the default one first. */
  fleets: z.array(z.string()),
  /** The fleets that it may look at only. */
  foreign_fleets: z.array(z.string()),
  /** Every write must send it as `x-csrf-token`. */
  csrf: z.string(),
  ends_at: z.string(),
});
export type Session = z.infer<typeof Session>;

/**
 * The state of a sentinel in the shown rollout: one letter each, for ten thousand of them.
 * w waits, p progressing, s succeeded, f failed, r reverted, n not reverted, l left out because of a pin,
 * o not part of the rollout, x not part of the rollout and its last deploy failed.
 */
export type SentinelMark = "w" | "p" | "s" | "f" | "r" | "n" | "l" | "o" | "x";

/** Rising indexes as run lengths, short although a batch is scattered: alternately how many to skip and to take. */
const Runs = z.array(z.int());
export type Runs = z.infer<typeof Runs>;

/** The fleet in columns, ordered by region and id. */
export const FleetColumns = z.object({
  regions: z.array(z.object({ name: z.string(), size: z.int() })),
  ids: z.array(z.string()),
  /** One mark per sentinel, in the order of `ids`. */
  marks: z.string(),
  /** The wave of each sentinel, from 1; 0: not part of the rollout, or not known yet. */
  waves: z.array(z.int()),
  /** Each text once, with the sentinels that have it. */
  reasons: z.array(z.tuple([z.string(), Runs])),
});
export type FleetColumns = z.infer<typeof FleetColumns>;

export const LiveRollout = RolloutDetail.extend({
  /** The operations that are legal now, by the table of transitions. */
  legal: z.array(z.enum(operations)),
  /** Results per second over the last 20 seconds. */
  per_second: z.number(),
});
export type LiveRollout = z.infer<typeof LiveRollout>;

/** The state of the rollout that the operator saw: a write is refused when the state has changed since. */
export const SeenState = z.strictObject({
  rollout_id: z.string().nullable(),
  state: z.enum(rolloutStates),
});
export type SeenState = z.infer<typeof SeenState>;

/** The row of a sentinel, and its part in the shown rollout. */
export const SentinelDetail = z.object({
  id: z.string(),
  region: z.string(),
  image: z.string(),
  running_image: z.string(),
  previous_image: z.string().nullable(),
  deploy_status: z.string(),
  deploy_reason: z.string().nullable(),
  health: z.string(),
  labels: z.record(z.string(), z.string()),
  updated_at: z.string(),
  wave: z.int().nullable(),
  outcome: z.string().nullable(),
  outcome_reason: z.string().nullable(),
  failure: z.string().nullable(),
});
export type SentinelDetail = z.infer<typeof SentinelDetail>;

/** A past rollout: its detail, its sentinels, and its results over time. */
export type PastRollout = {
  detail: RolloutDetail;
  fleet: FleetColumns;
  progress: Progress;
  /** Absent: it was not asked for. */
  past?: RolloutPast;
};

/** The marks that the grid has, too: w waits, p deploying, s new image, f failed, r reverted, n not reverted, l left out. */
export type PastMark = Extract<SentinelMark, "w" | "p" | "s" | "f" | "r" | "n" | "l">;

/** A past rollout's changes by moment, equally far apart: ten thousand sentinels take fewer than 200 kB. */
export type RolloutPast = {
  /** Moment 0. */
  from: string;
  step_ms: number;
  /** The last moment. */
  last: number;
  /** The marks at moment 0, as run lengths: a mark and how many have it. In the order of the fleet's `ids`. */
  initial: [PastMark, number][];
  /** Moments after the entry before, the new mark, and the sentinels: distances of indexes, the first from -1. */
  changes: [number, PastMark, number[]][];
  /** The number of sentinels of which earlier changes are not known. */
  lost: number;
};

/** The alert to simulate; without labels it is one that carries none. */
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

/** Alert routes: what they do with one alert, whom failing checks notify, and whether the routes are applied. */
export const RoutingView = z.object({
  /** null: it could not be read; `sync_trouble` has the reason. */
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
  /** Each failing check, with whom it pages, and the channels to which it is posted. */
  checks: z.array(
    z.object({
      check: z.string(),
      channel: z.string().nullable(),
      source: z.string().nullable(),
      pages: z.array(z.string()),
      channels: z.array(z.string()),
      /** Why its alerts reach nobody. Absent: they leave this program. */
      reaches_nobody: z.string().optional(),
    }),
  ),
  /** Why no alert of any check leaves this program. Absent: some do. */
  reaches_nobody: z.string().optional(),
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
  /** false: this program has no analytics; the other fields are then empty. */
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
      /** The verifications by outcome, over the whole span. */
      outcomes: z.record(z.string(), z.int()),
    }),
  ),
  /** Empty buckets are left out. */
  points: z.array(z.object({ at: z.string(), outcomes: z.record(z.string(), z.int()) })),
});
export type KeyUsage = z.infer<typeof KeyUsage>;
