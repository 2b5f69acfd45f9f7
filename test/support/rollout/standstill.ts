/** A rollout that has come to rest or waits, in tests that share a bench. */
import { RolloutStatus } from "#rollout/contract.ts";
import { waitFor } from "../wait-for.ts";
import type { RolloutBench } from "./rollout-bench.ts";

/** The status, if nothing runs and no deploy is in flight; otherwise false. */
export async function readStill(bench: RolloutBench): Promise<RolloutStatus | false> {
  const status = RolloutStatus.parse((await bench.call("Status")).body);
  const isMoving = status.state === "in_progress" || status.state === "rolling_back";
  return !isMoving && status.in_flight === 0 && status;
}

export function untilStill(bench: RolloutBench): Promise<RolloutStatus> {
  return waitFor(() => readStill(bench), {
    withinMs: 30_000,
    what: "the rollout to stand still",
  });
}

/**
 * The status once so many deploys are in flight and the fleet has their orders. It counts a deploy as
 * soon as that is launched; a Cancel before the order has left would leave it out.
 */
export function untilInFlight(bench: RolloutBench, count: number): Promise<RolloutStatus> {
  return waitFor(
    async () => {
      const status = RolloutStatus.parse((await bench.call("Status")).body);
      const isOrdered = count === 0 || bench.fleet.inFlight() === count;
      return status.in_flight === count && isOrdered && status;
    },
    { withinMs: 30_000, what: `${count} deploys in flight` },
  );
}

/** The status of a rollout that waits for this before the next thing starts. */
export function untilWaitingFor(
  bench: RolloutBench,
  what: RolloutStatus["waiting_for"],
): Promise<RolloutStatus> {
  return waitFor(
    async () => {
      const status = RolloutStatus.parse((await bench.call("Status")).body);
      return status.waiting_for === what && status;
    },
    { withinMs: 10_000, what: `the rollout to wait for the ${what}` },
  );
}

/** Ends what is left of the rollout before, which may wait, and restores the fleet. */
export async function startOver(bench: RolloutBench): Promise<void> {
  bench.fleet.release();
  if ((await bench.call("Status")).body.state === "in_progress") await bench.call("Cancel");
  const { state } = await untilStill(bench);
  if (state === "paused") await bench.call("Cancel");
  bench.fleet.reset();
  bench.fleet.behave(() => ({ status: "ready" }));
}
