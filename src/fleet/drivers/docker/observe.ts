/** Evaluates a deploy by the containers of its sentinel. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import type { DeployOrder, SentinelObservation } from "#fleet/drivers/driver.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import { type Family, findOfDeploy } from "./family.ts";
import { gradeContainer, type JudgeLimits, runsWell, type Verdict } from "./judge.ts";
import { planStep } from "./plan.ts";

/** `isUnfinished`: somebody has to go on with it. */
type Seen = { observation: SentinelObservation; isUnfinished: boolean };

type Order = Pick<DeployOrder, "image" | "deployId">;

/** `runningImage`: of the container that has the sentinel's name, as it is listed. */
type Limits = JudgeLimits & { runningImage: string | undefined };

export function observeFamily(family: Family, order: Order, limits: Limits): Seen {
  const made = findOfDeploy(family, order.deployId);
  const verdict: Verdict = made === undefined ? { status: "starting" } : gradeMade(made, limits);
  const isUnfinished = planStep(family, order.deployId, verdict).do !== "nothing";
  const serving = family.current ?? family.previous;
  const now = {
    running_image: limits.runningImage ?? "",
    healthy: serving !== undefined && runsWell(serving),
  };
  const seen =
    made === undefined
      ? observeUnordered(family, order, limits)
      : { ...observeOrdered(verdict, isUnfinished), isOrdered: true };
  return { observation: { ...seen, ...now }, isUnfinished };
}

/** One that failed otherwise than by its own doing has nothing to show for it. */
function gradeMade({ role, container }: Made, limits: JudgeLimits): Verdict {
  const verdict = gradeContainer(container, limits);
  if (role !== "failed" || verdict.status === "failed") return verdict;
  return { status: "failed", reason: givenUp };
}

type Made = NonNullable<ReturnType<typeof findOfDeploy>>;

const givenUp = `${"conflict" satisfies ReasonCode}: it was given up before it ran (see the worker's log)`;

/** A failure counts once the old container is back; until then it is what the deadline would say. */
function observeOrdered(verdict: Verdict, isUnfinished: boolean): SentinelObservation {
  const { status } = verdict;
  const reason = status === "failed" ? { reason: verdict.reason } : {};
  if (!isUnfinished && status !== "starting") return { status, ...reason };
  // The new container's own verdict is not enough: it has to stay so.
  return { status: "progressing", deniesReady: true, ...reason };
}

/** A container that runs the ordered image already is left as it is. */
function observeUnordered(
  { current, previous, next }: Family,
  { image }: Order,
  { runningImage }: Limits,
): SentinelObservation {
  if (current === undefined && previous === undefined && next === undefined) {
    return { status: "failed", reason: "target_gone: there is no such container" };
  }
  const isSame = runningImage !== undefined && isSameContent(runningImage, image);
  if (isSame && current !== undefined && runsWell(current)) return { status: "ready" };
  return { status: "progressing", isOrdered: false, reason: removed };
}

const removed = `${"conflict" satisfies ReasonCode}: the container of this deploy is not there`;
