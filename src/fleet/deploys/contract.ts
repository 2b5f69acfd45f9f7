/** The object of a sentinel, which deploys its images, and what is between it and a batch of a rollout. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import { fleetOrNone } from "#fleet/contract.ts";
import { longestTrace, type Trace } from "#kernel/tracing.ts";

/** A sentinel's health, by its fleet's word. `image`: the one that runs; absent: not known. */
const Serving = z.object({ healthy: z.boolean(), image: z.string().optional() });
export type Serving = z.infer<typeof Serving>;

/** A deploy after one of its steps. */
export const DeployStep = z.object({
  /** `unordered`: its run was stopped before the order was sent. */
  status: z.enum(["progressing", "ready", "failed", "unordered"]),
  reason: z.string().optional(),
  /** Only with `failed`: the fleet's API did not answer, or refused access. */
  isOfApi: z.boolean().optional(),
  /** Only with `failed`: absent: not known. */
  serving: Serving.optional(),
  /** The driver has not accepted the order yet: the next poll sends it again. */
  isPending: z.boolean().optional(),
  /** A push has said that the sentinel is ready. */
  isPushed: z.boolean().optional(),
  /** Since when a failure that the fleet reports may be that of the previous deploy (Unix ms). */
  doubtedSinceMs: z.number().optional(),
  watch: z.object({ atMs: z.number(), watchedMs: z.number() }).optional(),
});
export type DeployStep = z.infer<typeof DeployStep>;

/** A deploy that was begun before its invocation; without `step` it may have been, and is begun again. */
const EarlyDeploy = z.strictObject({ deployId: z.string().max(300), step: DeployStep.optional() });

const TraceOfDeploy = z.string().max(longestTrace).optional();

const DeployRequest = z.strictObject({
  image: z
    .string()
    .max(512)
    .meta({
      title: "Image",
      description:
        "The image that the sentinel is to run; empty: it is not known, and the deploy fails.",
      examples: ["registry.example.com/vedette/sentinel:v2"],
    }),
  run: z.string().max(200).optional().meta({
    title: "Run",
    description: "The run of a rollout that wants it: once that has stopped nothing is ordered.",
  }),
  fleet: fleetOrNone("The fleet of the sentinel; without it the default fleet."),
  trace: TraceOfDeploy.meta({
    title: "Trace",
    description:
      "The `traceparent` and `tracestate` of the span of this deploy; without it it is not traced.",
  }),
  begun: EarlyDeploy.optional().meta({
    title: "Begun",
    description: "What a rollout's batch has done of this deploy already.",
  }),
});
export type DeployRequest = z.infer<typeof DeployRequest>;

export const DeployResult = z.object({
  status: z.enum(["ready", "failed"]),
  /** Only with `failed`: a reason code, and mostly `": "` and a sentence. */
  reason: z.string().optional(),
  /** Only with `failed`, and false: the order was never sent, the sentinel is unchanged. */
  ordered: z.boolean().optional(),
  /** Only with `failed`, and true: the fleet's API failed, which says nothing about the image. */
  unasked: z.boolean().optional(),
  /** Only with `failed`: absent: not known. */
  serving: Serving.optional(),
  /** From the order until the last poll, Unix ms. */
  span: z.tuple([z.number(), z.number()]).optional(),
});
export type DeployResult = z.infer<typeof DeployResult>;

/** `step`: one that has not ended; without anything the deploy may have been begun or not. */
export type DeployStart = { result?: DeployResult; step?: DeployStep };

/** `run`, `trace`: as in `DeployRequest`. */
type EarlyOrder = {
  sentinelId: string;
  image: string;
  deployId: string;
  run?: string;
  trace?: Trace;
};

/**
 * Begins deploys without invocations of their own: those that end at once need none. Refuses a sentinel that has another
 * deploy in progress. Never throws, and takes a few seconds at most. `atOnce`: the most in flight; while they end in a
 * moment and well the next ones follow. `starts`: of the first of them; the others were not begun. `isQuick`: most have
 * ended, in a moment; `tookMs`: how long it took.
 */
export type StartDeploys = (
  orders: readonly EarlyOrder[],
  fleet: string,
  atOnce: number,
) => Promise<{ starts: DeployStart[]; isQuick: boolean; tookMs: number }>;

/** Returns those of these sentinels whose last order is of the deploy that is given with each; with `run`: and of that run. */
export type FindOrdered = (deploys: ReadonlyMap<string, string>, run?: string) => Promise<string[]>;

export const NotifyReadyRequest = z.strictObject({
  image: z.string().trim().min(1).max(512).meta({
    title: "Image",
    description: "The image that the sentinel now runs and serves with. Another one is ignored.",
  }),
});

/** One object per sentinel, keyed by the sentinel's id. */
export const sentinelService = iface.object("vedette.v1.SentinelService", {
  /** Replaces the sentinel's image and answers once it is ready or has failed; never throws for a failed deploy. */
  Deploy: iface.schemas({ input: DeployRequest, output: DeployResult }),
  /** A push from the platform that runs the sentinel. Ignored for an image that is not being deployed. */
  NotifyReady: iface.shared.schemas({
    input: NotifyReadyRequest,
    output: z.object({ accepted: z.boolean() }),
  }),
  /** Records that a deploy ended without a result, because its invocation was killed. */
  Abandon: iface.schemas({
    input: z.strictObject({ image: z.string(), reason: z.string() }),
    output: z.null(),
  }),
});
