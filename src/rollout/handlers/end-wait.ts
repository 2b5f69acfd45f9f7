/** Waits of a rollout: starts one, polls again, and ends it, by an operator or because windows have changed. */
import { InvocationIdParser, type ObjectContext } from "@restatedev/restate-sdk";
import { defaultFleet } from "#fleet/contract.ts";
import {
  type Actor,
  accountOfName,
  nameOf,
  type ReadActor,
  unknownAccount,
} from "#kernel/actor.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { cleanText } from "#kernel/text.ts";
import { toIso } from "#kernel/time.ts";
import { isPersonal } from "#kernel/words.ts";
import type { ApproveRequest, SkipRequest } from "#rollout/calls-contract.ts";
import type { Wait } from "#rollout/conditions/condition.ts";
import { dueGates } from "#rollout/conditions/gate.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import { isLookDue } from "#rollout/conditions/soak.ts";
import {
  endedWave,
  sleepMsOf,
  wakeSignal,
  withoutReason,
  withoutWait,
  withVerdict,
} from "#rollout/conditions/wait.ts";
import type { RolloutProblemCode, RolloutStatus } from "#rollout/contract.ts";
import { withConfirmation } from "#rollout/gates/registry.ts";
import type { Instruction, WaitInstruction, WindowsChange } from "#rollout/internal.ts";
import type { WaitReason } from "#rollout/policy-contract.ts";
import { illegalNow } from "#rollout/rules/transitions.ts";
import {
  type Approval,
  type RolloutHead,
  readHead,
  readWindowsEpoch,
  type WaveWait,
  writeHead,
  writeWindowsEpoch,
} from "#rollout/state.ts";
import { announce, sendAgain } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { requireHead } from "./stop.ts";

/** Tells a run to wait and to look again, and people what for. */
export async function waitFor(
  ctx: ObjectContext,
  head: RolloutHead,
  { verdict, nowMs }: { verdict: Wait; nowMs: number },
): Promise<Instruction> {
  const waiting = withVerdict(head, verdict);
  const isTold = verdict.retryMs === undefined && isNews(waiting.wait, head.wait);
  await writeWait(ctx, waiting, isTold);
  return waitInstruction(ctx, waiting, { nowMs, sleepMs: sleepMsOf(waiting, verdict, nowMs) });
}

/** Nothing is said of it: it takes milliseconds. */
export function pollAgain(
  ctx: ObjectContext,
  head: RolloutHead,
  nowMs: number,
): Promise<Instruction> {
  writeHead(ctx, head);
  return waitInstruction(ctx, head, { nowMs, sleepMs: 1 });
}

/** Returns what the run is to read, and after which sleep. */
export async function waitInstruction(
  ctx: Pick<ObjectContext, "get">,
  head: RolloutHead,
  { nowMs, sleepMs }: { nowMs: number; sleepMs: number },
): Promise<WaitInstruction> {
  const finishedWave = endedWave(head);
  const { since = head.updatedAt, round = 0 } = head.wait ?? {};
  const isSoaked = head.wait !== undefined && isLookDue(head.wait, nowMs + sleepMs);
  return {
    action: "wait",
    image: head.image,
    ...(finishedWave !== undefined && { finishedWave }),
    facts: {
      rolloutId: head.rolloutId,
      fleet: head.fleet ?? defaultFleet,
      image: head.image,
      wave: head.currentWave,
      waves: head.totalWaves,
      total: head.total,
      succeeded: head.succeeded,
      failed: head.failed,
      sinceMs: Date.parse(since),
    },
    round,
    sleepMs,
    windowsEpoch: await readWindowsEpoch(ctx),
    gates: dueGates(head),
    ...(isSoaked && { soaks: true }),
  };
}

/** Waits that an operator may have to act on, or that take hours. */
const announced: readonly WaitReason[] = ["approval", "window"];

function isAnnounced({ waitingFor, asksPeople }: WaveWait): boolean {
  return asksPeople === true || (waitingFor !== undefined && announced.includes(waitingFor));
}

/**
 * True if it waits for something else than before; an announced wait is news with another reason, too, but for a
 * gate: its readings change the reason.
 */
function isNews(wait: WaveWait, before: WaveWait | undefined): boolean {
  if (wait.waitingFor !== before?.waitingFor || wait.asksPeople !== before?.asksPeople) return true;
  return wait.waitingFor !== "gate" && isAnnounced(wait) && wait.reason !== before?.reason;
}

async function writeWait(
  ctx: ObjectContext,
  head: RolloutHead & { wait: WaveWait },
  isTold: boolean,
): Promise<void> {
  if (isTold && isAnnounced(head.wait)) {
    await announce(ctx, head, "waiting");
    return;
  }
  writeHead(ctx, head);
  if (isTold) await sendAgain(ctx, head);
}

function wake(ctx: ObjectContext, { runner, wait }: RolloutHead): void {
  if (wait === undefined) return;
  ctx
    .invocation(InvocationIdParser.fromString(runner))
    .signal<null>(wakeSignal(wait.round))
    .resolve(null);
}

/** Windows were added or removed: what was read before says nothing any more. */
export async function windowsChanged(
  ctx: ObjectContext,
  { removed }: WindowsChange,
): Promise<null> {
  writeWindowsEpoch(ctx, (await readWindowsEpoch(ctx)) + 1);
  const head = await readHead(ctx);
  if (head?.state !== "in_progress" || head.wait?.waitingFor !== "window") return null;
  wake(ctx, head);
  if (removed === undefined) return null;
  const { id, kind, by, reason } = removed;
  const about = kind === "freeze" ? `the freeze ${id}` : `the allowed window ${id}`;
  await announce(ctx, head, { event: "window removed", by, reason: `${about}: ${reason}` });
  return null;
}

export async function skip(
  ctx: ObjectContext,
  { reason, waiting_for: seen, wave }: SkipRequest,
  readActor: ReadActor,
): Promise<RolloutStatus> {
  const head = await requireHead(ctx, "Skip");
  const skipped = withoutWait(head);
  if (head.wait === undefined || skipped === undefined)
    throw illegalNow("Skip", head.state, notSkippable(head));
  const { waitingFor } = head.wait;
  if ((seen ?? waitingFor) !== waitingFor || (wave ?? head.currentWave) !== head.currentWave) {
    const now = `it waits for the ${waitingFor} after wave ${head.currentWave} by now`;
    throw illegalNow("Skip", head.state, `${now}; check and decide again`);
  }
  wake(ctx, head);
  const by = nameOf(readActor(ctx));
  return toStatus(await announce(ctx, skipped, { event: "skipped", by, reason }));
}

function notSkippable({ wait }: RolloutHead): string {
  if (wait?.waitingFor === "gate")
    return "it waits for a confirmation, which cannot be skipped; Approve with the gate's name gives it";
  return wait?.waitingFor === "approval"
    ? "it waits for an approval, which cannot be skipped; Approve gives it"
    : "it waits for nothing that can be skipped";
}

/** Approves the wave that waits for it, and no later one. */
export async function approve(
  ctx: ObjectContext,
  { reason, gate, ...seen }: ApproveRequest,
  readActor: ReadActor,
): Promise<RolloutStatus> {
  const head = await requireHead(ctx, "Approve");
  if (gate !== undefined) {
    const by = nameOf(readActor(ctx));
    return confirm(ctx, head, { gate, by, seen, ...(reason !== undefined && { reason }) });
  }
  const by = requireApprover(readActor(ctx), head);
  const wave = requireWaitingWave(head, seen);
  const at = toIso(await ctx.date.now());
  const approval: Approval = { wave, by, at, ...(reason !== undefined && { reason }) };
  const approved = [...(head.approved ?? []), approval];
  wake(ctx, head);
  const transition = { event: "approved", by, ...(reason !== undefined && { reason }) } as const;
  return toStatus(await announce(ctx, { ...withoutReason(head), approved }, transition));
}

type Confirmation = {
  gate: string;
  by: string;
  seen: Omit<ApproveRequest, "reason" | "gate">;
  reason?: string;
};

/** Confirms a gate of the kind `pause`, after the wave that has ended. By anybody who may approve, a pipeline too. */
async function confirm(
  ctx: ObjectContext,
  head: RolloutHead,
  { gate: name, by, seen, reason }: Confirmation,
): Promise<RolloutStatus> {
  const { gates = [], gateStatus, currentWave, rolloutId } = head;
  const nowMs = await ctx.date.now();
  const confirmed = gateStatus && withConfirmation(gateStatus, gates, { name, by, nowMs });
  if (confirmed === undefined) {
    throw illegalNow(
      "Approve",
      head.state,
      `no gate ${cleanText(name, 63)} waits for a confirmation, or its time is over`,
    );
  }
  const { rollout_id: seenId = rolloutId, wave = currentWave + 1 } = seen;
  if (seenId !== rolloutId || wave !== currentWave + 1) {
    const now = `the rollout ${rolloutId} waits before wave ${currentWave + 1} by now`;
    throw illegalNow("Approve", head.state, `${now}; check and decide again`);
  }
  wake(ctx, head);
  const transition = {
    event: "gate confirmed",
    by,
    reason: `${name}${reason === undefined ? "" : `: ${reason}`}`,
  } as const;
  return toStatus(await announce(ctx, { ...head, gateStatus: confirmed }, transition));
}

/** The wave that waits for an approval. Throws the 409 when none does, or another one than was seen. */
function requireWaitingWave(
  head: RolloutHead,
  { rollout_id: rolloutId, wave: seen }: Omit<ApproveRequest, "reason" | "gate">,
): number {
  const next = nextOf(head);
  if (head.wait?.waitingFor !== "approval" || next.kind !== "wave")
    throw illegalNow("Approve", head.state, "it waits for no approval");
  const wave = next.index + 1;
  if ((rolloutId ?? head.rolloutId) === head.rolloutId && (seen ?? wave) === wave) return wave;
  const now = `the rollout ${head.rolloutId} of ${shortenImage(head.image)} waits for an approval of wave ${wave} by now`;
  throw illegalNow("Approve", head.state, `${now}; check and decide again`);
}

/** The approver's name. Throws the 403 for a caller without one, and for the starter under any name. */
function requireApprover(actor: Actor, { startedBy, accounts: starters }: RolloutHead): string {
  const by = nameOf(actor);
  if (!isPersonal(by)) {
    throw notAnApprover(
      `an approval has to have a name: sign in (vedette login), or call with a token of your own (control.operators), not as ${by}`,
    );
  }
  const [theirs = [], own = []] = [starters, actor.accounts];
  const isOneUnknown = theirs.includes(unknownAccount) !== own.includes(unknownAccount);
  const isPerson = (one: string) => !one.startsWith("row:");
  if (by !== startedBy && isOneUnknown && theirs.some(isPerson) && own.some(isPerson)) {
    const next = own.includes(unknownAccount) ? "call again" : "cancel it and start it again";
    throw notAnApprover(
      `nobody knows whether ${by} is ${startedBy}: Postgres did not answer when it was asked; ${next}`,
    );
  }
  const isStarter = [...own, accountOfName(by)].some(
    (account) => account !== unknownAccount && theirs.includes(account),
  );
  if (by !== startedBy && !isStarter) return by;
  const earlier = by === startedBy ? "" : `, as ${startedBy}`;
  throw notAnApprover(
    `${by} has started this rollout${earlier}; another operator has to approve it`,
  );
}

function notAnApprover(detail: string): ProblemError<RolloutProblemCode> {
  return new ProblemError<RolloutProblemCode>({ status: 403, code: "not_an_approver", detail });
}
