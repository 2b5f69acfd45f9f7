/** Gates of a rollout: the rows of a request, and their state from the end of a wave until the next one starts. */
import { z } from "zod";
import { Reason } from "#rollout/values-contract.ts";
import { Comparison } from "./comparison-contract.ts";

const comparisonText = /^\s*(<=|>=|<|>|==|!=)\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?)\s*$/i;

const ConditionText = z.string().max(50).regex(comparisonText, {
  error: 'must be a comparison with a number, for example "< 0.01" (<, <=, >, >=, ==, !=)',
});

const comparisons: Record<string, (value: number, limit: number) => boolean> = {
  "<": (value, limit) => value < limit,
  "<=": (value, limit) => value <= limit,
  ">": (value, limit) => value > limit,
  ">=": (value, limit) => value >= limit,
  "==": (value, limit) => value === limit,
  "!=": (value, limit) => value !== limit,
};

/** True if the number meets the condition; NaN meets none. */
export function compare(value: number, condition: string): boolean {
  const [, sign = "", limit = ""] = comparisonText.exec(condition) ?? [];
  return !Number.isNaN(value) && comparisons[sign]?.(value, Number(limit)) === true;
}

export type GateProblemCode =
  | "unknown_check"
  | "check_off"
  | "gate_off"
  | "unknown_channel"
  | "unknown_gate";

/** How a rollout goes on at the end of a gate's time. */
const OnTimeout = z.enum(["continue", "pause", "rollback"]);

const timeoutSeconds = z.int().min(10).max(86_400).default(600).meta({
  description: "The rollout pauses if the gate is still closed then.",
});

const checkFields = {
  checks: z
    .array(z.string())
    .min(1)
    .max(20)
    .refine((ids) => new Set(ids).size === ids.length, { error: "must name each check once" })
    .meta({ description: "API checks, by id; `vedette checks list` has them." }),
  clean_runs: z.int().min(1).max(100).default(1).meta({
    description:
      "Runs of each check that must be ok after the wave. A degraded one does not count.",
  }),
  timeout_seconds: timeoutSeconds,
};

/** The short form of a request with one gate of API checks. */
export const CheckGate = z.strictObject(checkFields).meta({
  title: "Gate",
  description:
    "The next wave waits until each of these checks has had so many clean runs. The same as one of `gates` with the kind `checks`.",
  examples: [{ checks: ["liveness"], clean_runs: 3, timeout_seconds: 600 }],
});
export type CheckGate = z.infer<typeof CheckGate>;

const GateName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,62}$/, {
  error: "must be lower-case letters, digits and dashes, 63 at most",
});
const name = GateName.optional().meta({
  description: "Default: the kind; `checks-2` for the second of a kind.",
});

const ChecksGate = z.strictObject({ kind: z.literal("checks"), name, ...checkFields });

const intervalSeconds = z.int().min(5).max(3_600).default(30);

/** Each reading is a step in the journal of the run. */
const mostReadings = 1_000;

type Timed = { interval_seconds: number; timeout_seconds: number };
const hasFewReadings = ({ interval_seconds, timeout_seconds }: Timed) =>
  timeout_seconds / interval_seconds <= mostReadings;
const tooMany = {
  error: `must be at least a ${mostReadings}th of timeout_seconds`,
  path: ["interval_seconds"],
};

const PrometheusGate = z
  .strictObject({
    kind: z.literal("prometheus"),
    name,
    query: z.string().trim().min(1).max(5_000).meta({
      description: "PromQL, asked at rollout.prometheus_url; a number or an instant vector.",
    }),
    pass: ConditionText.optional().meta({
      description: "A reading passes if each series meets it. Default: if none meets `fail`.",
    }),
    fail: ConditionText.optional().meta({
      description: "A reading fails if any series meets it. Default: if one does not meet `pass`.",
    }),
    count: z.int().min(1).max(100).default(3).meta({ description: "Readings that have to pass." }),
    interval_seconds: intervalSeconds.meta({
      description: "Between two readings, and from the end of the wave to the first.",
    }),
    fail_limit: z.int().min(1).max(100).default(1).meta({
      description: "Failed readings that close the gate.",
    }),
    no_data: z.enum(["inconclusive", "pass", "fail"]).default("inconclusive").meta({
      description: "What an empty answer and NaN mean. An error never passes.",
    }),
    timeout_seconds: timeoutSeconds,
  })
  .refine(({ pass, fail }) => pass !== undefined || fail !== undefined, {
    error: "must have pass, fail or both",
  })
  .refine(hasFewReadings, tooMany)
  .refine(
    ({ count, interval_seconds, timeout_seconds }) => count * interval_seconds < timeout_seconds,
    { error: "must be longer than count times interval_seconds", path: ["timeout_seconds"] },
  );

const WebhookGate = z
  .strictObject({
    kind: z.literal("webhook"),
    name,
    channel: z.string().min(1).max(200).meta({
      description: "A channel of the kind webhook in the definitions: its address and its secret.",
    }),
    interval_seconds: intervalSeconds.meta({ description: "Between two questions." }),
    timeout_seconds: timeoutSeconds,
  })
  .refine(hasFewReadings, tooMany);

const PauseGate = z.strictObject({
  kind: z.literal("pause"),
  name,
  message: Reason.optional().meta({ description: "What is to be confirmed." }),
  timeout_seconds: z.int().min(10).max(2_592_000).default(86_400).meta({
    description: "For so long it waits for `Approve` with its name.",
  }),
  on_timeout: OnTimeout.default("pause"),
});

const CompareGate = z.strictObject({
  kind: z.literal("compare"),
  name,
  minutes: z.int().min(5).max(240).default(30).meta({
    description: "How long the wave's sentinels are compared with the others, after 3 minutes.",
  }),
  when_inconclusive: z.enum(["wait", "pause", "continue"]).default("pause").meta({
    description: "What follows if nothing is proven by then; `wait` compares for 4 more hours.",
  }),
});

export const Gate = z.discriminatedUnion("kind", [
  ChecksGate,
  PrometheusGate,
  WebhookGate,
  PauseGate,
  CompareGate,
]);
export type Gate = z.infer<typeof Gate>;
export type GateKindName = Gate["kind"];
export type GateOf<Kind extends GateKindName> = Extract<Gate, { kind: Kind }>;

const gateKinds = [
  "checks",
  "prometheus",
  "webhook",
  "pause",
  "compare",
] as const satisfies readonly GateKindName[];

const rowFields = {
  id: GateName.meta({ description: "The gate's name, by which requests name it." }),
  name: z.never({ error: "is the id here: leave it out" }).optional(),
  default: z.boolean().default(false).meta({
    description: "True: a gate of each rollout whose request has neither gate nor gates.",
  }),
};

/** The row of a gate in the definitions. */
export const GateRow = z.discriminatedUnion("kind", [
  ChecksGate.safeExtend(rowFields),
  PrometheusGate.safeExtend(rowFields),
  WebhookGate.safeExtend(rowFields),
  PauseGate.safeExtend(rowFields),
  CompareGate.safeExtend(rowFields),
]);
export type GateRow = z.infer<typeof GateRow>;

/** The number of gates that one rollout may have in `gates`. */
export const mostGates = 10;

const GateChoice = z.union([
  GateName.meta({ description: "A gate of the definitions, by its id." }),
  Gate,
]);

export const Gates = z
  .array(GateChoice)
  .max(mostGates)
  .refine(haveOwnNames, { error: "must not give two gates the same name" })
  .meta({
    title: "Gates",
    description:
      "The next wave waits until each of these has passed. Default: the rows of the definitions that are `default`; an empty list: none.",
    examples: [["errors", { kind: "checks", checks: ["liveness"], clean_runs: 3 }]],
  });
export type Gates = z.infer<typeof Gates>;

function haveOwnNames(gates: readonly (Gate | string)[]): boolean {
  const names = gates.flatMap((gate) => (typeof gate === "string" ? gate : (gate.name ?? [])));
  return new Set(names).size === names.length;
}

/** A gate of a rollout: each has a name of its own. */
export type NamedGate = Gate & { name: string };

/** The failed run of a check that keeps a gate closed. */
const FailedRun = z.object({
  at: z.string(),
  location: z.string(),
  reason: z.string(),
  /** HTTP status; null when there was no answer. */
  status: z.int().nullable(),
  duration_ms: z.number(),
});

const CheckState = z.object({
  check: z.string(),
  clean_runs: z.int(),
  wanted_runs: z.int(),
  failed_run: FailedRun.nullable(),
});
export type CheckState = z.infer<typeof CheckState>;

/** `inconclusive`: there are readings, and they say neither. It never passes by itself. */
const gateVerdicts = ["pending", "pass", "fail", "inconclusive"] as const;
export type GateVerdict = (typeof gateVerdicts)[number];

/** One reading of a gate: the value in words, and its verdict alone. */
const Reading = z.object({
  at: z.string(),
  value: z.string(),
  verdict: z.enum(gateVerdicts),
});
export type Reading = z.infer<typeof Reading>;

const GateView = z.object({
  name: z.string(),
  kind: z.enum(gateKinds),
  until: z.string(),
  /** What follows if nothing more is read or confirmed until then. */
  on_timeout: OnTimeout,
  verdict: z.enum(gateVerdicts),
  /** Why, in words. */
  reason: z.string(),
  /** The last ten, oldest first. */
  readings: z.array(Reading),
  /** Of the kind `compare`. */
  comparison: Comparison.optional(),
});

/** The gates between two waves, as Status has them. */
export const GateStatus = z.object({
  /** The wave that they follow. */
  wave: z.int(),
  since: z.string(),
  /** The first time at which a closed gate stops the rollout; of gates that all continue, the last one. */
  until: z.string(),
  on_timeout: OnTimeout,
  /** The checks of all gates of the kind `checks`. */
  checks: z.array(CheckState),
  /** The gates of other kinds. */
  gates: z.array(GateView).default([]),
});
export type GateStatus = z.infer<typeof GateStatus>;

/** The durable state of one gate. */
export type GateState = z.infer<typeof GateView> & {
  /** The number of readings so far, and those that passed and failed. */
  count: { all: number; pass: number; fail: number };
  /** The time of the last reading; absent: there was none. */
  readAt?: string;
  /** Of the kind `checks`. */
  checks?: CheckState[];
  /** Of the kind `pause`: who has confirmed it. */
  confirmed?: { by: string; at: string };
};

/** The durable state of all gates after a wave, counted from 1. */
export type WaveGates = { wave: number; since: string; gates: GateState[] };
