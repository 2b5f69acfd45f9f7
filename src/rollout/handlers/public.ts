/** The public shared handlers. They hold no lock, so that Cancel never waits for them. */
import { type ObjectSharedContext, TerminalError } from "@restatedev/restate-sdk";
import type { CiEvidence } from "#ci/contract.ts";
import type { Actor, ReadActor } from "#kernel/actor.ts";
import { attachOrLost } from "#kernel/attach.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import {
  defaultWavePercentages,
  type RollbackResult,
  type RolloutHistory,
  type RolloutPlan,
  type RolloutRequest,
  type RolloutStatus,
} from "#rollout/contract.ts";
import {
  type BeginRequest,
  type RunHandle,
  type RunResult,
  rolloutObject,
} from "#rollout/internal.ts";
import { Policy } from "#rollout/policy/contract.ts";
import type { HistoryRequest, ResumeRequest, RollbackRequest } from "#rollout/requests/contract.ts";
import { requireCi } from "#rollout/rules/ci.ts";
import { withDefaults } from "#rollout/rules/defaults.ts";
import { describePlan } from "#rollout/rules/describe-plan.ts";
import { type GateChecks, requireGateChecks } from "#rollout/rules/gate-checks.ts";
import { planRollout } from "#rollout/rules/plan.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import type { ListFleet, ReadPins } from "#rollout/services/capture.ts";
import { type HeadPolicy, readHead } from "#rollout/state.ts";
import type { RolloutWindow } from "#rollout/windows/contract.ts";
import { toStatus } from "./answer.ts";
import { reviveRepair } from "./repair.ts";
import { reasonOfWait } from "./waiting.ts";

/**
 * Checks that an image exists, and returns it pinned to its digest; with what shows that it has passed CI, where the
 * settings ask for that. Throws a `ProblemError`.
 */
export type ResolveImage = (image: string) => Promise<string | CheckedImage>;

type CheckedImage = { image: string; ci?: CiEvidence[] };

type ReadHistory = (request: HistoryRequest) => Promise<RolloutHistory>;

export type PublicParts = {
  listFleet: ListFleet;
  resolveImage: ResolveImage;
  readHistory: ReadHistory;
  readWindows: () => Promise<RolloutWindow[]>;
  readPins: ReadPins;
  readGateChecks: () => Promise<GateChecks>;
  readActor: ReadActor;
  /** What the settings say, for what a request leaves out. */
  policy: HeadPolicy;
};

/** How long the registry may be unreachable before the call fails. */
const pinRetry = { maxRetryDuration: 15_000 };

/** A fleet with many pages is slow to list; the gateway's own timeout is hardly longer. */
const plan = {
  name: "plan-waves",
  limitMs: 25_000,
  describe: ({ message }: Error) => `the fleet cannot be listed now (${message})`,
};

const history = databaseRead("read-history", {
  limitMs: 5_000,
  problem: "history cannot be read",
});

export function createPublicHandlers(parts: PublicParts) {
  return {
    async Rollout(ctx: ObjectSharedContext, request: RolloutRequest): Promise<RolloutStatus> {
      // Refused before the registry is called, so that a second Rollout fails at once.
      nextState("Rollout", (await readHead(ctx))?.state ?? "idle");
      const { image, ci } = await pin(ctx, parts, request);
      requireCi(ci);
      const decision = ctx.client(rolloutObject, ctx.key).begin({
        image,
        requestedImage: request.image,
        wavePercentages: request.wave_percentages ?? defaultWavePercentages,
        ...nameStarter(parts.readActor(ctx)),
        ...(request.gate !== undefined && { gate: request.gate }),
        ...policyOf(request),
        ...(ci !== undefined && { ci }),
      });
      return statusOf(await waitForRuns(ctx, await awaitDecision(ctx, decision)));
    },

    async Resume(ctx: ObjectSharedContext, request: ResumeRequest): Promise<RolloutStatus> {
      const resume = { ...parts.readActor(ctx), ...request };
      const decision = ctx.client(rolloutObject, ctx.key).beginResume(resume);
      const begun = await awaitDecision(ctx, decision);
      return "status" in begun ? begun.status : statusOf(await waitForRuns(ctx, begun));
    },

    async RollbackAll(ctx: ObjectSharedContext, request: RollbackRequest): Promise<RollbackResult> {
      const rollback = { ...parts.readActor(ctx), ...request };
      const decision = ctx.client(rolloutObject, ctx.key).beginRollback(rollback);
      const { followedBy: _, ...result } = await waitForRun(
        ctx,
        await awaitDecision(ctx, decision),
      );
      return result;
    },

    async Status(ctx: ObjectSharedContext): Promise<RolloutStatus> {
      const head = await readHead(ctx);
      if (head === null) return toStatus(head);
      await reviveRepair(ctx, head);
      const reason = await reasonOfWait(ctx, head);
      return { ...toStatus(head), ...(reason !== undefined && { reason }) };
    },

    async Plan(ctx: ObjectSharedContext, request: RolloutRequest): Promise<RolloutPlan> {
      const { image, ci = [] } = await pin(ctx, parts, request);
      const wavePercentages = request.wave_percentages ?? defaultWavePercentages;
      return readNow(ctx, plan, async () => {
        const reads = [parts.listFleet(), parts.readWindows(), parts.readPins()] as const;
        const [fleet, windows, pins] = await Promise.all(reads);
        const policy = withDefaults(parts.policy, policyOf(request).policy);
        const times = { windows, nowMs: Date.now() };
        const wanted = { image, ci, wavePercentages, policy };
        const planned = { ...wanted, fleetSize: fleet.length, pins, ...times };
        return describePlan(planned, planRollout(fleet, planned));
      });
    },

    async History(ctx: ObjectSharedContext, request: HistoryRequest): Promise<RolloutHistory> {
      return readNow(ctx, history, () => parts.readHistory(request));
    },
  };
}

/** The fields of the policy that the request has. */
function policyOf(request: RolloutRequest): Pick<BeginRequest, "policy"> {
  const policy = Policy.parse(request);
  return Object.keys(policy).length === 0 ? {} : { policy };
}

function nameStarter({ by, isSigned }: Actor): Pick<BeginRequest, "startedBy" | "isSigned"> {
  return { startedBy: by, ...(isSigned === true && { isSigned }) };
}

/**
 * Refuses a gate that could never open, before the registry is called. Once, with the image: the settings may be others
 * when the call is replayed, while the rollout runs. An earlier version has journaled the image alone.
 */
async function pin(
  ctx: ObjectSharedContext,
  { readGateChecks, resolveImage }: PublicParts,
  { gate, image }: Pick<RolloutRequest, "gate" | "image">,
): Promise<CheckedImage> {
  const resolve = async () => {
    if (gate !== undefined) requireGateChecks(gate, await readGateChecks());
    return resolveImage(image);
  };
  const resolved = await ctx.run("resolve-image", resolve, pinRetry);
  return typeof resolved === "string" ? { image: resolved } : resolved;
}

/**
 * Waits for the handler that accepts or refuses the operation. If that handler is killed, Restate kills
 * the run that it sent too, while the head may already say that it runs: a repair checks that at once.
 */
async function awaitDecision<Answer>(
  ctx: ObjectSharedContext,
  decision: Promise<Answer>,
): Promise<Answer> {
  try {
    return await decision;
  } catch (error) {
    const isRefused = error instanceof TerminalError && error.metadata?.["code"] !== undefined;
    if (!isRefused) ctx.sendClient(rolloutObject, ctx.key).repair({});
    throw error;
  }
}

/** Waits for the run's answer. If the run was killed, the rollout object closes it and answers instead. */
function waitForRun(ctx: ObjectSharedContext, begun: RunHandle): Promise<RunResult> {
  return attachOrLost(ctx, begun.runner, (reason) => {
    const failure = `the run ended early: ${reason}`;
    return ctx.client(rolloutObject, ctx.key).runnerEnded({ ...begun, failure, cause: "run" });
  });
}

/** The same, and for the rollback that follows by `on_failure`. */
async function waitForRuns(ctx: ObjectSharedContext, begun: RunHandle): Promise<RunResult> {
  const result = await waitForRun(ctx, begun);
  const { followedBy: runner } = result;
  return runner === undefined ? result : waitForRun(ctx, { ...begun, runner });
}

function statusOf(result: RunResult): RolloutStatus {
  const { reverted: _r, not_reverted: _n, followedBy: _f, ...status } = result;
  return status;
}
