/** Begins several deploys at once, for a batch: those that end in a moment need no invocation of their own. */
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { BeginDeploys, DeployStart, DeployStep } from "./contract.ts";
import type { WantedOrder } from "./give-order.ts";
import { toResult } from "./result.ts";
import type { Deploying } from "./service.ts";

/** For the order and the first look. */
const beginLimitMs = 1_000;
/** How long a deploy is waited for before each of the looks that follow, as long as they begin soon enough. */
const looksMs = [50, 100, 200];
const lastLookMs = 400;
/** With what a slow database and the log of a failure take besides. */
const wholeLimitMs = 5_000;

/** How long a quick fleet takes for a group at most. */
const quickMs = 500;

export function createBeginDeploys(fleets: ReadonlyMap<string, Deploying>): BeginDeploys {
  return async (orders, fleet) => {
    const deploying = fleets.get(fleet);
    // Its own invocation says why not.
    if (deploying === undefined) return { starts: orders.map(() => ({})), isQuick: false };
    const beganMs = performance.now();
    const starts = await Promise.all(orders.map((order) => startOf(order, deploying)));
    const ended = starts.filter(({ result }) => result !== undefined).length;
    const isQuick = performance.now() - beganMs <= quickMs && 2 * ended >= orders.length;
    return { starts, isQuick };
  };
}

/** Whatever goes wrong, its own invocation begins the deploy again, under the same id. */
async function startOf(order: WantedOrder, deploying: Deploying): Promise<DeployStart> {
  const { deployer, deployTimeoutMs } = deploying;
  const limitMs = Math.min(beginLimitMs, deployTimeoutMs);
  const begin = async () => {
    const first = await deployer.begin({ ...order, onlyIfIdle: true }, limitMs);
    return lookAgain(order, first, deploying);
  };
  try {
    const step = await unlessLate(begin, { limitMs: wholeLimitMs, late: new Error("late") });
    return step.status === "progressing" ? { step } : { result: toResult(step) };
  } catch {
    return {};
  }
}

/** Some more looks at a deploy that the fleet has taken: a replacement of a moment is over by then. */
async function lookAgain(
  order: WantedOrder,
  first: DeployStep,
  { deployer, deployTimeoutMs }: Deploying,
): Promise<DeployStep> {
  const beganMs = performance.now();
  let step = first;
  for (const pollMs of looksMs) {
    const isDue = performance.now() - beganMs + pollMs <= lastLookMs;
    if (step.status !== "progressing" || step.isPending === true || !isDue) break;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    const { doubtedSinceMs, watch } = step;
    const next = { isPending: false, doubtedSinceMs, watch, pollMs, isDue: false, isPushed: false };
    step = await deployer.observe(order, next, deployTimeoutMs);
  }
  return step;
}
