/** The exclusive handlers by which an operator lets a rollout that waits go on. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { type Actor, nameOf, type ReadActor, unknownAccount } from "#kernel/actor.ts";
import { shortenImage } from "#kernel/image-reference.ts";
import { ProblemError } from "#kernel/problem.ts";
import { toIso } from "#kernel/time.ts";
import { isPersonal } from "#kernel/words.ts";
import { nextOf } from "#rollout/conditions/next.ts";
import { withoutReason, withoutWait } from "#rollout/conditions/wait.ts";
import type { RolloutProblemCode, RolloutStatus } from "#rollout/contract.ts";
import type { ApproveRequest, SkipRequest } from "#rollout/requests/contract.ts";
import { illegalNow } from "#rollout/rules/transitions.ts";
import type { Approval, RolloutHead } from "#rollout/state.ts";
import { announce } from "./announce.ts";
import { toStatus } from "./answer.ts";
import { requireHead } from "./legal.ts";
import { wake } from "./wake.ts";

/** Ends the wait, if it is one that an operator may end. */
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
  return wait?.waitingFor === "approval"
    ? "it waits for an approval, which cannot be skipped; Approve gives it"
    : "it waits for nothing that can be skipped";
}

/** Approves the wave that waits for it, and no later one. */
export async function approve(
  ctx: ObjectContext,
  { reason, ...seen }: ApproveRequest,
  readActor: ReadActor,
): Promise<RolloutStatus> {
  const head = await requireHead(ctx, "Approve");
  const by = requireApprover(readActor(ctx), head);
  const wave = requireWaitingWave(head, seen);
  const at = toIso(await ctx.date.now());
  const approval: Approval = { wave, by, at, ...(reason !== undefined && { reason }) };
  const approved = [...(head.approved ?? []), approval];
  wake(ctx, head);
  const transition = { event: "approved", by, ...(reason !== undefined && { reason }) } as const;
  return toStatus(await announce(ctx, { ...withoutReason(head), approved }, transition));
}

/** The wave that waits for an approval. Throws the 409 when none does, or another one than was seen. */
function requireWaitingWave(
  head: RolloutHead,
  { rollout_id: rolloutId, wave: seen }: Omit<ApproveRequest, "reason">,
): number {
  const next = nextOf(head);
  if (head.wait?.waitingFor !== "approval" || next.kind !== "wave")
    throw illegalNow("Approve", head.state, "it waits for no approval");
  const wave = next.index + 1;
  if ((rolloutId ?? head.rolloutId) === head.rolloutId && (seen ?? wave) === wave) return wave;
  const now = `the rollout ${head.rolloutId} of ${shortenImage(head.image)} waits for an approval of wave ${wave} by now`;
  throw illegalNow("Approve", head.state, `${now}; check and decide again`);
}

/**
 * The name of the operator who approves. Throws the 403 for a caller that is nobody in particular, and for the starter,
 * under whatever name.
 */
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
  const isStarter = own.some((account) => account !== unknownAccount && theirs.includes(account));
  if (by !== startedBy && !isStarter) return by;
  const earlier = by === startedBy ? "" : `, as ${startedBy}`;
  throw notAnApprover(
    `${by} has started this rollout${earlier}; another operator has to approve it`,
  );
}

function notAnApprover(detail: string): ProblemError<RolloutProblemCode> {
  return new ProblemError<RolloutProblemCode>({ status: 403, code: "not_an_approver", detail });
}
