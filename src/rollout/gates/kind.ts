/** The parts that each kind of gate has. All are pure but for `read`, which runs in a step of the run. */
import type { ProblemError } from "#kernel/problem.ts";
import type { Ledger } from "#rollout/comparison/contract.ts";
import type { CompareImages, WaveCompared } from "./compare-images.ts";
import type { Comparison } from "./comparison-contract.ts";
import type {
  CheckState,
  GateProblemCode,
  GateRow,
  GateState,
  GateVerdict,
  NamedGate,
  Reading,
} from "./contract.ts";

/** The runs of one check since the gate closed. */
export type CheckReport = {
  check: string;
  /** Runs that were ok at every location. */
  cleanRuns: number;
  /** The first run that failed; null when none did. */
  failedRun: CheckState["failed_run"];
};

/** Reads reports of API checks, by id, from runs that were due at `sinceMs` (Unix ms) or later. */
type ReadChecks = (checks: string[], sinceMs: number) => Promise<CheckReport[]>;

/** `labels`: as text after the value, with a space before them; empty: none. NaN and infinity are values, too. */
export type Sample = { labels: string; value: number };
export type PrometheusAnswer = { samples: Sample[] } | { error: string };
export type QueryPrometheus = (query: string) => Promise<PrometheusAnswer>;

/** `error`: why there is no answer, without address and secret. */
export type WebhookAnswer = { status: number; body: string } | { error: string };
/** Asks a channel of the definitions. `id`: of the message, by Standard Webhooks. Never throws. */
type AskWebhook = (
  channel: string,
  question: { id: string; body: string },
) => Promise<WebhookAnswer>;

/** How gates reach what they are about. */
export type GateTools = {
  readChecks: ReadChecks;
  queryPrometheus: QueryPrometheus;
  askWebhook: AskWebhook;
  compareImages: CompareImages;
};

/** The targets that gates may name. */
export type GateTargets = {
  /** The ids of the API checks that a gate may name. */
  known: readonly string[];
  /** The names of the settings without which this check is off; empty: it runs. */
  whyOff: (check: string) => readonly string[];
  /** The ids of the channels of the kind webhook. */
  webhooks: readonly string[];
  /** The gates of the definitions. */
  rows: readonly GateRow[];
  hasPrometheus: boolean;
  /** True if the counters of the fleet's sentinels are recorded. */
  hasCounters: boolean;
};

/** The targets that a fleet's settings decide. */
export type FleetTargets = Pick<GateTargets, "hasPrometheus" | "hasCounters">;

/** Reads the others. `orKnown`: the last known ones will do while the database does not answer. */
export type ReadGateTargets = (how?: {
  orKnown: boolean;
}) => Promise<Omit<GateTargets, keyof FleetTargets>>;

/** The wave that has ended, for whoever is asked about it. */
export type WaveFacts = {
  rolloutId: string;
  fleet: string;
  image: string;
  /** From 1; `waves`: their number. */
  wave: number;
  waves: number;
  /** Sentinels of the whole rollout. */
  total: number;
  succeeded: number;
  failed: number;
  sinceMs: number;
};

/** `attempt`: the number of the reading, from 1; the same when a reading is repeated. */
export type AttemptFacts = WaveFacts & { attempt: number; compared?: WaveCompared };

/** The result of one read: a reading with its verdict, or reports of checks. */
export type Found =
  | { reading: Reading; comparison?: Comparison; ledger?: Ledger }
  | { reports: CheckReport[] };

/** `reason`: in words, without the gate's name. `rollsBack`: a rollback follows, whatever `on_failure` says. */
export type Evaluation = {
  verdict: GateVerdict;
  reason: string;
  rollsBack?: true;
  /** True if people have to act, and so are notified. */
  asksPeople?: true;
  /** True if it has passed, and lacks only a fresh reading that passes: nothing else waits for that. */
  isDoubtful?: true;
};

export type GateKind<Row extends NamedGate> = {
  /** `always`: at every poll; `paced`: `pollMs` after the one before, however often is polled; `never`. */
  reads: "always" | "paced" | "never";
  /** True if a gate that has passed is read on until the next wave starts, and at least once after a Resume. */
  isKept: boolean;
  /** The time from the end of the wave to the first reading, and between two of them. */
  firstMs: (gate: Row) => number;
  pollMs: (gate: Row) => number;
  /** The evidence of a gate that has just closed. */
  open: (gate: Row) => Pick<GateState, "checks">;
  /** Must not throw for an answer that is no answer: that is a reading, too. */
  read: (gate: Row, tools: GateTools, facts: AttemptFacts) => Promise<Found | null>;
  withFound: (state: GateState, found: Found) => GateState;
  evaluate: (gate: Row, state: GateState, nowMs: number) => Evaluation;
  /** Refuses a gate that could never open; undefined: it may. */
  refuse: (gate: Row, targets: GateTargets) => ProblemError<GateProblemCode> | undefined;
  /** For a plan: what has to happen before each next wave. */
  describe: (gate: Row) => string;
};
