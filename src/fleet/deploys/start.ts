/** Starts several deploys at once, for a batch: those that end in a moment need no invocation of their own. */
import { unlessLate } from "#kernel/async.ts";
import type { DeployStart, DeployStep, StartDeploys } from "./contract.ts";
import type { RunOrder } from "./give-order.ts";
import { type Deploying, toResult } from "./service.ts";

/** The limit of the order and the first poll. */
const startLimitMs = 1_000;
/** The waits before each of the polls that follow, as long as they start soon enough. */
const pollWaitsMs = [50, 100, 200];
const lastPollMs = 400;
/** With what a slow database and the log of a failure take besides; and of a look with the same. */
const wholeLimitMs = 5_000;
const pollLimitMs = 3_000;
const late = new Error("there was no answer in time");

/** The longest time that a quick fleet takes for a deploy; a busy database adds to it. */
const quickMs = 1_000;
/** The time within which the last deploy of a group is expected to have ended when it begins. */
const moreMs = 300;

export function createStartDeploys(fleets: ReadonlyMap<string, Deploying>): StartDeploys {
  return async (orders, fleet, atOnce) => {
    const deploying = fleets.get(fleet);
    // Its own invocation says why not.
    if (deploying === undefined)
      return { starts: orders.map(() => ({})), isQuick: false, tookMs: 0 };
    const startMs = performance.now();
    const { starts, slowestMs } = await startInTurn(orders, { deploying, atOnce });
    const ended = starts.filter(({ result }) => result !== undefined).length;
    const tookMs = Math.round(performance.now() - startMs);
    return { starts, isQuick: slowestMs <= quickMs && 2 * ended >= starts.length, tookMs };
  };
}

/** One that has ended well makes room for the next. After any other, what follows is for the batch to decide. */
async function startInTurn(
  orders: readonly RunOrder[],
  { deploying, atOnce }: { deploying: Deploying; atOnce: number },
): Promise<{ starts: DeployStart[]; slowestMs: number }> {
  const starts: DeployStart[] = [];
  const startMs = performance.now();
  let isOver = false;
  let slowestMs = 0;
  let begun = 0;
  const startNext = async (): Promise<void> => {
    const order = orders[begun];
    if (order === undefined) return;
    const i = begun++;
    const beganMs = performance.now();
    const start = await startOf(order, deploying);
    starts[i] = start;
    const nowMs = performance.now();
    slowestMs = Math.max(slowestMs, Math.floor(nowMs - beganMs));
    isOver ||= start.result?.status !== "ready" || nowMs - startMs + slowestMs > moreMs;
    if (!isOver) await startNext();
  };
  await Promise.all(Array.from({ length: atOnce }, startNext));
  return { starts, slowestMs };
}

/** Whatever goes wrong, its own invocation begins the deploy again, under the same id. */
async function startOf(order: RunOrder, deploying: Deploying): Promise<DeployStart> {
  // An image that is not known is never ordered; its own invocation says so.
  if (order.image === "") return {};
  const { deployer, deployTimeoutMs } = deploying;
  const limitMs = Math.min(startLimitMs, deployTimeoutMs);
  const start = () => deployer.start({ ...order, onlyIfIdle: true }, limitMs);
  try {
    const first = await unlessLate(start, { limitMs: wholeLimitMs, late });
    const step = await pollAgain(order, first, deploying);
    if (step.status === "progressing") return { step };
    return { result: toResult(step, order.trace === undefined ? undefined : first) };
  } catch {
    return {};
  }
}

/** Polls some more: a quick replacement is over by then. A poll that fails or hangs is the last, without effect. */
async function pollAgain(
  order: RunOrder,
  first: DeployStep,
  { deployer, deployTimeoutMs }: Deploying,
): Promise<DeployStep> {
  const startMs = performance.now();
  let step = first;
  for (const pollMs of pollWaitsMs) {
    const isDue = performance.now() - startMs + pollMs <= lastPollMs;
    if (step.status !== "progressing" || step.isPending === true || !isDue) break;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    const { doubtedSinceMs, watch } = step;
    const next = { isPending: false, doubtedSinceMs, watch, pollMs, isDue: false, isPushed: false };
    const poll = () => deployer.observe(order, next, deployTimeoutMs);
    const found = await unlessLate(poll, { limitMs: pollLimitMs, late }).catch(() => undefined);
    if (found === undefined) break;
    step = found;
  }
  return step;
}
