/** The public shared handlers. They hold no lock, so that Cancel never waits for them. */
import {
  type ObjectSharedContext,
  type RestatePromise,
  TerminalError,
} from "@restatedev/restate-sdk";
import type { Actor, ReadActor } from "#kernel/actor.ts";
import { databaseRead, readNow, readPatiently } from "#kernel/read-now.ts";
import { attachOrLost } from "#kernel/restate.ts";
import { startTrace } from "#kernel/tracing.ts";
import type { HistoryRequest, ResumeRequest, RollbackRequest } from "#rollout/calls-contract.ts";
import {
  findUnmatched,
  namesSentinels,
  requireMatches,
  warnOfPins,
} from "#rollout/choice/unmatched.ts";
import {
  defaultWavePercentages,
  type RollbackResult,
  type RolloutHistory,
  type RolloutPlan,
  type RolloutRequest,
  type RolloutStatus,
} from "#rollout/contract.ts";
import type { CheckedImage, Fleets } from "#rollout/fleets.ts";
import type { NamedGate } from "#rollout/gates/contract.ts";
import type { ReadGateTargets } from "#rollout/gates/kind.ts";
import { gatesOf, requireGates } from "#rollout/gates/registry.ts";
import {
  type RunHandle,
  type RunResult,
  rolloutObject,
  type StartRequest,
} from "#rollout/internal.ts";
import { Policy } from "#rollout/policy-contract.ts";
import { describePlan } from "#rollout/rules/describe-plan.ts";
import { planRollout } from "#rollout/rules/plan.ts";
import { notPromoted, requireCi, withDefaults } from "#rollout/rules/start.ts";
import { nextState } from "#rollout/rules/transitions.ts";
import type { ReadPins } from "#rollout/services/capture.ts";
import type { ReadWindows } from "#rollout/services/poll.ts";
import { statusOf, toResult } from "#rollout/services/run.ts";
import { type RolloutTrace, readHead } from "#rollout/state.ts";
import { toStatus } from "./answer.ts";
import { findHindrances, type Promotions, reasonOfWait } from "./reason-of-wait.ts";
import { reviveRepair } from "./repair.ts";

/** `after`: the fleets that have to have completed it; `lost`: those of them that the settings have no more. */
type PinnedImage = CheckedImage & {
  gates: NamedGate[];
  after?: string[];
  lost?: string[];
  trace?: RolloutTrace;
};

type ReadHistory = (request: HistoryRequest & { fleet: string }) => Promise<RolloutHistory>;

export type PublicParts = {
  fleets: Fleets;
  readHistory: ReadHistory;
  readWindows: ReadWindows;
  readPins: ReadPins;
  readGateTargets: ReadGateTargets;
  promotions: Promotions;
  readActor: ReadActor;
};

/** The limit for listing the fleet before a rollout starts. */
const checkForMs = 10_000;

/** The time for which the registry may be unreachable before the call fails. */
const pinRetry = { maxRetryDuration: 15_000 };

/** A fleet with many pages is slow to list; the gateway's own timeout is hardly longer. */
const plan = {
  name: "plan-waves",
  limitMs: 25_000,
  describe: ({ message }: Error) => `the fleet cannot be listed now (${message})`,
};

const history = databaseRead("read-history", { limitMs: 5_000, problem: "history cannot be read" });

export function createPublicHandlers(parts: PublicParts) {
  return {
    async Rollout(ctx: ObjectSharedContext, request: RolloutRequest): Promise<RolloutStatus> {
      // Refused before the registry is called, so that a second Rollout fails at once.
      nextState("Rollout", await readHead(ctx));
      const { image, ci, gates, trace, ...first } = await pin(ctx, parts, request);
      requireCi(ci);
      const hindrances = await findHindrances(ctx, parts.promotions, { image, ...first });
      if (hindrances.length > 0) throw notPromoted(ctx.key, hindrances);
      const { policy } = policyOf(request);
      const isChecked = policy === undefined || (await checkChoice(ctx, parts, policy));
      const decision = ctx.client(rolloutObject, ctx.key).begin({
        image,
        requestedImage: request.image,
        wavePercentages: request.wave_percentages ?? defaultWavePercentages,
        ...nameStarter(parts.readActor(ctx)),
        ...(gates.length > 0 && { gates }),
        ...(policy !== undefined && { policy }),
        ...(!isChecked && { unchecked: policy }),
        ...(ci !== undefined && { ci }),
        ...(trace !== undefined && { trace }),
      });
      return statusOf(await waitForRuns(ctx, await awaitDecision(ctx, decision)));
    },

    async Resume(ctx: ObjectSharedContext, request: ResumeRequest): Promise<RolloutStatus> {
      const resume = { ...parts.readActor(ctx), ...request };
      const decision = ctx.client(rolloutObject, ctx.key).startResume(resume);
      const begun = await awaitDecision(ctx, decision);
      return "status" in begun ? begun.status : statusOf(await waitForRuns(ctx, begun));
    },

    async RollbackAll(ctx: ObjectSharedContext, request: RollbackRequest): Promise<RollbackResult> {
      const rollback = { ...parts.readActor(ctx), ...request };
      const decision = ctx.client(rolloutObject, ctx.key).startRollback(rollback);
      const { followedBy: _, ...result } = await waitForRun(
        ctx,
        await awaitDecision(ctx, decision),
      );
      return result;
    },

    async Status(ctx: ObjectSharedContext): Promise<RolloutStatus> {
      const head = await readHead(ctx);
      if (head === null) {
        parts.fleets.require(ctx.key);
        return toStatus(head);
      }
      await reviveRepair(ctx, head);
      const reason = await reasonOfWait(ctx, head, parts.fleets.get(ctx.key));
      return { ...toStatus(head), ...(reason !== undefined && { reason }) };
    },

    async Plan(ctx: ObjectSharedContext, request: RolloutRequest): Promise<RolloutPlan> {
      const isOpen = parts.readActor(ctx).isSigned === true;
      const { image, ci = [], gates, ...first } = await pin(ctx, parts, { ...request, isOpen });
      const hindrances = await findHindrances(ctx, parts.promotions, { image, ...first });
      const asked = { ...request, image, ci, gates, hindrances };
      return readNow(ctx, plan, () => planNow(parts, ctx.key, asked));
    },

    async History(ctx: ObjectSharedContext, request: HistoryRequest): Promise<RolloutHistory> {
      return readNow(ctx, history, async () => {
        const found = await parts.readHistory({ ...request, fleet: ctx.key });
        if (found.rollouts.length === 0) parts.fleets.require(ctx.key);
        return found;
      });
    },
  };
}

async function planNow(
  parts: PublicParts,
  key: string,
  asked: Omit<RolloutRequest, "gates"> &
    Pick<RolloutPlan, "ci" | "hindrances"> & { gates: NamedGate[] },
): Promise<RolloutPlan> {
  const { listFleet, policy: defaults } = parts.fleets.require(key);
  const reads = [listFleet(), parts.readWindows(key), parts.readPins(key)] as const;
  const [fleet, windows, pins] = await Promise.all(reads);
  const nowMs = Date.now();
  requireMatches(fleet, { ...asked, pins, nowMs });
  const policy = withDefaults(defaults, policyOf(asked).policy);
  const wavePercentages = asked.wave_percentages ?? defaultWavePercentages;
  // A pin of every fleet may be about another one, where there are several.
  const own = pins.filter((pin) => parts.fleets.names.length === 1 || pin.fleet === key);
  const warnings = [
    ...findUnmatched(fleet, policy).map((line) => `settings, rollout.${line}`),
    ...warnOfPins(fleet, { pins: own, nowMs }),
  ];
  const found = { fleetSize: fleet.length, pins, warnings, windows, nowMs };
  const planned = { ...asked, ...found, wavePercentages, policy };
  return describePlan(planned, planRollout(fleet, planned));
}

function policyOf(request: Omit<RolloutRequest, "gates">): Pick<StartRequest, "policy"> {
  const policy = Policy.parse(request);
  return Object.keys(policy).length === 0 ? {} : { policy };
}

function nameStarter({ by, ...rest }: Actor): Pick<StartRequest, "startedBy" | "isSigned"> {
  return { startedBy: by, ...rest };
}

/** Refuses what no sentinel has. False: the fleet cannot be listed; the first wave finds such names then. */
async function checkChoice(
  ctx: ObjectSharedContext,
  { fleets, readPins }: PublicParts,
  policy: Policy,
): Promise<boolean> {
  if (!namesSentinels(policy)) return true;
  return ctx.run("check-choice", async () => {
    const { listFleet } = fleets.require(ctx.key);
    const read = () => Promise.all([listFleet(), readPins(ctx.key)]);
    const [fleet, pins = []] = await readPatiently(checkForMs, read).catch(() => []);
    if (fleet !== undefined) requireMatches(fleet, { ...policy, pins, nowMs: Date.now() });
    return fleet !== undefined;
  });
}

type GatedImage = Pick<RolloutRequest, "gate" | "gates" | "image"> & { isOpen?: boolean };

/** Refuses a gate that cannot open, before the registry is asked. Once: settings and definitions may differ at a replay. */
async function pin(
  ctx: ObjectSharedContext,
  { readGateTargets, fleets, promotions }: PublicParts,
  { image, isOpen = true, ...request }: GatedImage,
): Promise<PinnedImage> {
  const resolve = async (): Promise<PinnedImage> => {
    const fleet = fleets.require(ctx.key);
    // A rollout that names none starts while Postgres is away, too, with the default gates that are known.
    const orKnown = request.gate === undefined && request.gates === undefined;
    const targets = await readGateTargets({ orKnown });
    const gates = gatesOf(request, targets.rows);
    const { prometheus, hasCounters = false } = fleet;
    requireGates(gates, { ...targets, hasCounters, hasPrometheus: prometheus !== undefined });
    const first = await promotions.before(ctx.key);
    const trace = startTrace(Object.fromEntries(ctx.request().headers));
    const resolved = await fleet.resolveImage(image, isOpen);
    const pinned = { ...resolved, gates, ...(trace !== undefined && { trace }) };
    if (first.length === 0) return pinned;
    const { after = [], lost = [] } = Object.groupBy(first, (name) =>
      fleets.names.includes(name) ? "after" : "lost",
    );
    return { ...pinned, after, lost };
  };
  return ctx.run("resolve-image", resolve, pinRetry);
}

/** Waits for the decision. If its handler is killed, so is the run that it sent: a repair checks that at once. */
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
function waitForRun(
  ctx: ObjectSharedContext,
  begun: RunHandle,
  sooner?: RestatePromise<RunResult>,
): Promise<RunResult> {
  const lost = (reason: string) => {
    const failure = `the run ended early: ${reason}`;
    return ctx.client(rolloutObject, ctx.key).runnerEnded({ ...begun, failure, cause: "run" });
  };
  return attachOrLost(ctx, begun.runner, { lost, ...(sooner && { sooner }) });
}

/** Terminal: any other error would be tried again for ever, since what was told is in the journal. */
function resultOfCancel(status?: RolloutStatus | null, failure?: TerminalError): RunResult {
  if (failure !== undefined) throw failure;
  if (status === undefined || status === null)
    throw new TerminalError("whoever waited was told of a Cancel without its answer");
  return toResult(status);
}

/** The same, and for the rollback that follows by `on_failure`. */
async function waitForRuns(ctx: ObjectSharedContext, begun: RunHandle): Promise<RunResult> {
  const caller = { runner: begun.runner, caller: ctx.request().id };
  ctx.sendClient(rolloutObject, ctx.key).recordCaller(caller);
  // Cancel tells it what it has told the run, which would answer some round trips later.
  const sooner = ctx.signal<RolloutStatus | null>("cancel").map(resultOfCancel);
  const result = await waitForRun(ctx, begun, sooner);
  const { followedBy: runner } = result;
  return runner === undefined ? result : waitForRun(ctx, { ...begun, runner });
}
