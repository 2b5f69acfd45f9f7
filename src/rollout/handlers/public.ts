/** The shared handlers that callers see. They hold no lock, so that Cancel is never kept waiting. */
import { type ObjectSharedContext, TerminalError } from "@restatedev/restate-sdk";
import { attachOrLost } from "#kernel/attach.ts";
import { ProblemError } from "#kernel/problem.ts";
import { databaseRead, readNow } from "#kernel/read-now.ts";
import type { Actor, ReadActor } from "#rollout/actor.ts";
import {
  defaultWavePercentages,
  type Gate,
  type HistoryRequest,
  type RollbackResult,
  type RolloutHistory,
  type RolloutPlan,
  type RolloutProblemCode,
  type RolloutRequest,
  type RolloutStatus,
} from "#rollout/contract.ts";
import { type BeginRequest, type RunHandle, rolloutObject } from "#rollout/internal.ts";
import { describePlan, planMembers } from "#rollout/rules/plan.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import type { ListFleet } from "#rollout/services/capture.ts";
import { readHead } from "#rollout/state.ts";
import { toStatus } from "./answer.ts";
import { reviveRepair } from "./repair.ts";
import { reasonOfWait } from "./waiting.ts";

/** Checks that an image exists and pins it: the answer has a digest. Throws a `ProblemError`. */
export type ResolveImage = (image: string) => Promise<string>;

type ReadHistory = (request: HistoryRequest) => Promise<RolloutHistory>;

export type PublicParts = {
  listFleet: ListFleet;
  resolveImage: ResolveImage;
  readHistory: ReadHistory;
  /** The ids of the API checks that a gate may name. */
  knownChecks: readonly string[];
  readActor: ReadActor;
};

/** How long the registry may be unreachable before the caller is told. */
const patience = { maxRetryDuration: 15_000 };

/** A fleet of many pages is slow to list; the gateway waits hardly longer for an answer. */
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
      // Refused here already, before the registry is asked: a second Rollout waits for nothing.
      nextState("Rollout", (await readHead(ctx))?.state ?? "idle");
      requireKnownChecks(request.gate, parts.knownChecks);
      const image = await pin(ctx, parts, request.image);
      const beginning = ctx.client(rolloutObject, ctx.key).begin({
        image,
        requestedImage: request.image,
        wavePercentages: request.wave_percentages ?? defaultWavePercentages,
        ...nameStarter(parts.readActor(ctx)),
        ...(request.gate !== undefined && { gate: request.gate }),
      });
      return statusOf(await waitForRun(ctx, await decided(ctx, beginning)));
    },

    async Resume(ctx: ObjectSharedContext): Promise<RolloutStatus> {
      const beginning = ctx.client(rolloutObject, ctx.key).beginResume(parts.readActor(ctx));
      const begun = await decided(ctx, beginning);
      return "status" in begun ? begun.status : statusOf(await waitForRun(ctx, begun));
    },

    async RollbackAll(ctx: ObjectSharedContext): Promise<RollbackResult> {
      const beginning = ctx.client(rolloutObject, ctx.key).beginRollback(parts.readActor(ctx));
      return waitForRun(ctx, await decided(ctx, beginning));
    },

    async Status(ctx: ObjectSharedContext): Promise<RolloutStatus> {
      const head = await readHead(ctx);
      if (head === null) return toStatus(head);
      await reviveRepair(ctx, head);
      const reason = await reasonOfWait(ctx, head);
      return { ...(reason !== undefined && { reason }), ...toStatus(head) };
    },

    async Plan(ctx: ObjectSharedContext, request: RolloutRequest): Promise<RolloutPlan> {
      requireKnownChecks(request.gate, parts.knownChecks);
      const image = await pin(ctx, parts, request.image);
      const wavePercentages = request.wave_percentages ?? defaultWavePercentages;
      return readNow(ctx, plan, async () => {
        const fleet = await parts.listFleet();
        return describePlan(image, fleet.length, planMembers(fleet, { image, wavePercentages }));
      });
    },

    async History(ctx: ObjectSharedContext, request: HistoryRequest): Promise<RolloutHistory> {
      return readNow(ctx, history, () => parts.readHistory(request));
    },
  };
}

function nameStarter({ by, isSigned }: Actor): Pick<BeginRequest, "startedBy" | "isSigned"> {
  return { startedBy: by, ...(isSigned === true && { isSigned }) };
}

/** Refused at once: a gate that nobody ever opens would only be noticed by its timeout. */
function requireKnownChecks(gate: Gate | undefined, known: readonly string[]): void {
  const unknown = gate?.checks.find((check) => !known.includes(check));
  if (unknown === undefined) return;
  throw new ProblemError<RolloutProblemCode>({
    status: 400,
    code: "unknown_check",
    detail: `there is no API check ${unknown} for a gate; there are ${known.join(", ")}`,
  });
}

function pin(ctx: ObjectSharedContext, parts: PublicParts, image: string): Promise<string> {
  return ctx.run("resolve-image", () => parts.resolveImage(image), patience);
}

/**
 * What was decided. Killed half-way, a decision takes its run with it and may have written already
 * that it is at work: then that is looked into at once.
 */
async function decided<Answer>(
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

/** Waits for the run's own answer; when the run was killed the rollout is told, and answers itself. */
function waitForRun(ctx: ObjectSharedContext, begun: RunHandle): Promise<RollbackResult> {
  return attachOrLost(ctx, begun.runner, (reason) => {
    const failure = `the run ended early: ${reason}`;
    return ctx.client(rolloutObject, ctx.key).runnerEnded({ ...begun, failure, cause: "run" });
  });
}

function statusOf(result: RollbackResult): RolloutStatus {
  const { reverted: _reverted, not_reverted: _notReverted, ...status } = result;
  return status;
}
