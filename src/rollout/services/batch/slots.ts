/** Counts how many more sentinels may become unavailable, by deploys in flight and those that failed. */
import type { Target } from "#rollout/rules/outcome.ts";

export class Slots {
  #free: number;

  /** `free`: undefined: there is no limit. Negative: more are unavailable than may be. */
  constructor(free = Number.POSITIVE_INFINITY) {
    this.#free = free;
  }

  /** One that is unavailable already can always be deployed. */
  mayTake(target: Target | undefined): target is Target {
    return target !== undefined && (target.isDown === true || this.#free > 0);
  }

  take({ isDown }: Target): void {
    if (isDown !== true) this.#free--;
  }

  /** A deploy has succeeded: its sentinel is available. After a failure it is not. */
  giveBack(): void {
    this.#free++;
  }
}
