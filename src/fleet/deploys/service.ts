/** `SentinelService`: one virtual object per sentinel, which replaces its image. */
import {
  InvocationIdParser,
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";
import { defaultFleet, type ReasonCode } from "#fleet/contract.ts";
import type { FleetStore } from "#fleet/store.ts";
import { inTime } from "#kernel/async.ts";
import { compareImages } from "#kernel/image-reference.ts";
import {
  type DeployRequest,
  type DeployResult,
  type DeployStep,
  sentinelService,
} from "./contract.ts";
import type { Deployer } from "./deployer.ts";
import type { RunOrder } from "./give-order.ts";

/** Converts a deploy's last step into the result for the caller that wanted it. `first`: its first one, if it is traced. */
export function toResult(step: DeployStep, first?: DeployStep): DeployResult {
  const span = spanOf(first, step);
  if (step.status === "ready") return { status: "ready", ...span };
  const reason = step.reason ?? "timeout_unknown";
  if (step.status === "unordered") return { status: "failed", reason, ordered: false, ...span };
  const { isOfApi, serving } = step;
  const unasked = isOfApi === true && { unasked: true };
  return { status: "failed", reason, ...unasked, ...(serving && { serving }), ...span };
}

/** The first step has watched since the order. */
function spanOf(first: DeployStep | undefined, last: DeployStep): Pick<DeployResult, "span"> {
  if (first?.watch === undefined) return {};
  const { atMs, watchedMs } = first.watch;
  return { span: [atMs - watchedMs, Math.max(atMs, last.watch?.atMs ?? atMs)] };
}

/** Key `deploying`: the deploy in progress, to which a "ready" push is delivered. */
type DeployInProgress = { image: string; invocation: string };

export type Deploying = { deployer: Deployer; deployTimeoutMs: number };

type SentinelServiceParts = {
  fleets: ReadonlyMap<string, Deploying>;
  /** `abandon`: records that a deploy ended without a result. */
  store: Pick<FleetStore, "abandon" | "recordPush">;
};

const firstPollMs = 200;
const lastPollMs = 2_000;
/** The longest interval, for deploys that take hours: each poll is two entries in their journal. */
const longestPollMs = 30_000;

export function createSentinelService(parts: SentinelServiceParts) {
  return implement(sentinelService, {
    handlers: {
      Deploy: (ctx, request) => deploy(ctx, request, parts),
      NotifyReady: (ctx, { image }) => notifyReady(ctx, image, parts),
      Abandon: async (ctx, { image, reason }) => {
        ctx.clear("deploying");
        await ctx.run("abandon", () => parts.store.abandon({ id: ctx.key, image, reason }));
        return null;
      },
    },
    options: {
      // Otherwise a fleet of 50,000 would leave as many journals for a day.
      journalRetention: 0,
      handlers: {
        Deploy: { ingressPrivate: true },
        Abandon: { ingressPrivate: true },
        // It reads its state after it has noted the push, and not as it was before.
        // Whoever runs a sentinel may push without end: what Restate keeps of it is forgotten in ten minutes, not in a day.
        NotifyReady: { enableLazyState: true, idempotencyRetention: 600_000 },
      },
    },
  });
}

async function deploy(
  ctx: ObjectContext,
  { image, run, fleet = defaultFleet, begun, trace }: DeployRequest,
  parts: SentinelServiceParts,
): Promise<DeployResult> {
  if (image === "") return { status: "failed", reason: unknownImage };
  const invocation = ctx.request().id;
  const order = { sentinelId: ctx.key, image, deployId: begun?.deployId ?? invocation, run, trace };
  // Before the order is given: a push that comes at once must find this invocation.
  ctx.set<DeployInProgress>("deploying", { image, invocation });
  try {
    // A single journaled step for a quick deploy, because a fleet has very many of them.
    const deploying = parts.fleets.get(fleet) ?? unknownFleet;
    const { deployer, deployTimeoutMs } = deploying;
    const first =
      begun?.step ?? (await ctx.run("deploy", () => deployer.start(order, deployTimeoutMs)));
    const mayBePushed = begun !== undefined && first.isPending !== true;
    const result =
      first.status === "progressing"
        ? await waitReady(ctx, { order, first, mayBePushed }, deploying)
        : first;
    ctx.clear("deploying");
    return toResult(result, trace === undefined ? undefined : first);
  } catch (error) {
    if (!(error instanceof TerminalError)) throw error;
    const reason = `cancelled: ${error.message}`;
    ctx.clear("deploying");
    await ctx.run("abandon", () => parts.store.abandon({ id: ctx.key, image, reason }));
    return { status: "failed", reason };
  }
}

/** The settings have lost the fleet, which says nothing about the image. */
const unknownFleet: Deploying = {
  deployer: { start: async () => lostFleet, observe: async () => lostFleet },
  deployTimeoutMs: 60_000,
};

const lostFleet: DeployStep = {
  status: "failed",
  reason: `${"config_invalid" satisfies ReasonCode}: the settings have no fleet of this name`,
  isOfApi: true,
};

const unknownImage = `${"config_invalid" satisfies ReasonCode}: the image to deploy is not known`;

type Cause = "pushed" | "deadline" | "poll";

async function waitReady(
  ctx: ObjectContext,
  { order, first, ...given }: { order: RunOrder; first: DeployStep; mayBePushed: boolean },
  { deployer, deployTimeoutMs }: Deploying,
): Promise<DeployStep> {
  const leftMs = Math.max(0, deployTimeoutMs - (first.watch?.watchedMs ?? 0));
  const awaited = new Map<Cause, RestatePromise<Cause>>([
    ["pushed", ctx.signal<null>("ready").map(() => "pushed" as const)],
    ["deadline", ctx.sleep(leftMs).map(() => "deadline" as const)],
  ]);
  let step = first;
  let isPushed = false;
  let { mayBePushed } = given;
  for (let pollMs = firstPollMs; ; pollMs = nextPollMs(pollMs, step)) {
    const poll = ctx.sleep(pollMs).map(() => "poll" as const);
    const cause = await RestatePromise.race([...awaited.values(), poll]);
    awaited.delete(cause);
    // A push from before the fleet accepted the order was not about this deploy.
    isPushed ||= cause === "pushed" && step.isPending !== true;
    const { isPending = false, watch, doubtedSinceMs } = step;
    const isDue = !awaited.has("deadline");
    const next = { isPending, doubtedSinceMs, watch, pollMs, isPushed, isDue, mayBePushed };
    step = await ctx.run("observe", () => deployer.observe(order, next, deployTimeoutMs));
    if (step.status !== "progressing") return step;
    mayBePushed = false;
    isPushed ||= step.isPushed === true;
  }
}

/** The interval doubles up to 2 s, or up to a hundredth of the time watched so far if that is longer. */
export function nextPollMs(pollMs: number, { watch }: Pick<DeployStep, "watch">): number {
  const hundredthMs = Math.round((watch?.watchedMs ?? 0) / 100);
  return Math.min(pollMs * 2, Math.max(lastPollMs, Math.min(longestPollMs, hundredthMs)));
}

/** A deploy that has an invocation needs no note, and is told also while the database is away. */
const recordLimitMs = 2_000;

async function notifyReady(
  ctx: ObjectSharedContext,
  image: string,
  { store }: SentinelServiceParts,
): Promise<{ accepted: boolean }> {
  // First the note, then the look: whoever begins to follow a deploy does it the other way round.
  const record = () => store.recordPush({ id: ctx.key, image });
  const isRecorded = await ctx.run("note-push", () =>
    inTime(record, { limitMs: recordLimitMs, otherwise: false }),
  );
  const deploying = await ctx.get<DeployInProgress>("deploying");
  if (deploying === null || compareImages(deploying.image, image) === "other") {
    return { accepted: isRecorded };
  }
  const invocation = InvocationIdParser.fromString(deploying.invocation);
  ctx.invocation(invocation).signal<null>("ready").resolve(null);
  return { accepted: true };
}
