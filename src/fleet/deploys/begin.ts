/** Begins several deploys at once, for a batch: those that end in a moment need no invocation of their own. */
import { unlessLate } from "#kernel/unless-aborted.ts";
import type { BeginDeploys, DeployStart } from "./contract.ts";
import type { WantedOrder } from "./give-order.ts";
import { toResult } from "./result.ts";
import type { Deploying } from "./service.ts";

/** For the order and one look. */
const beginLimitMs = 1_000;
/** With what a slow database and the log of a failure take besides. */
const wholeLimitMs = 5_000;

/** How long a quick fleet takes for a group. */
const quickMs = 500;

export function createBeginDeploys(fleets: ReadonlyMap<string, Deploying>): BeginDeploys {
  return async (orders, fleet) => {
    const deploying = fleets.get(fleet);
    // Its own invocation says why not.
    if (deploying === undefined) return { starts: orders.map(() => ({})), isQuick: false };
    const beganMs = performance.now();
    const starts = await Promise.all(orders.map((order) => begin(order, deploying)));
    const ended = starts.filter(({ result }) => result !== undefined).length;
    const isQuick = performance.now() - beganMs <= quickMs && 2 * ended >= orders.length;
    return { starts, isQuick };
  };
}

/** Whatever goes wrong, its own invocation begins the deploy again, under the same id. */
async function begin(
  order: WantedOrder,
  { deployer, deployTimeoutMs }: Deploying,
): Promise<DeployStart> {
  const limitMs = Math.min(beginLimitMs, deployTimeoutMs);
  const begun = () => deployer.begin({ ...order, onlyIfIdle: true }, limitMs);
  try {
    const step = await unlessLate(begun, { limitMs: wholeLimitMs, late: new Error("late") });
    return step.status === "progressing" ? { step } : { result: toResult(step) };
  } catch {
    return {};
  }
}
