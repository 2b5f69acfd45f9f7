/**
 * The table of states and operations (docs/architecture.md, "States and transitions") as a plain model,
 * written without looking at the code.
 */

type State = "idle" | "in_progress" | "paused" | "completed" | "cancelled" | "rolling_back";

export type ModelOperation = "Rollout" | "Resume" | "Pause" | "Skip" | "Cancel" | "RollbackAll";

/** What a request says about failures. */
export type ModelPolicy = { tolerates: boolean; rollsBack: boolean };

const legal: Record<State, ModelOperation[]> = {
  idle: ["Rollout"],
  // Nothing is skipped here: no rollout of the model waits.
  in_progress: ["Pause", "Cancel"],
  paused: ["Resume", "Cancel", "RollbackAll"],
  completed: ["Rollout"],
  cancelled: ["Rollout", "RollbackAll"],
  rolling_back: [],
};

/** A fleet and its one rollout, moved by whole operations. */
export class RolloutModel {
  state: State = "idle";
  /** What each sentinel runs. */
  readonly running: Map<string, string>;
  image = "";
  waves: string[][] = [];
  currentWave = 0;
  succeeded = new Set<string>();
  failed = new Set<string>();
  #previous = new Map<string, string>();
  #policy: ModelPolicy = { tolerates: false, rollsBack: false };

  constructor(running: Map<string, string>) {
    this.running = new Map(running);
  }

  allows(operation: ModelOperation): boolean {
    return legal[this.state].includes(operation);
  }

  /** Freezes the fleet: who is in which wave, and what each runs now. */
  begin(
    image: string,
    waves: string[][],
    policy: ModelPolicy = { tolerates: false, rollsBack: false },
  ): void {
    this.#policy = policy;
    this.state = "in_progress";
    this.image = image;
    this.waves = waves;
    this.currentWave = 0;
    this.succeeded = new Set();
    this.failed = new Set();
    this.#previous = new Map(this.running);
  }

  /** Runs waves from the next one on until one fails, or all are done. */
  run(failing: ReadonlySet<string>): void {
    this.state = "in_progress";
    while (this.currentWave < this.waves.length) {
      const wave = this.waves[this.currentWave++] ?? [];
      for (const id of wave) this.#deploy(id, failing);
      if (this.#stopsFor(wave, failing)) return;
    }
    this.state = "completed";
  }

  /** Deploys the failed members of the current wave again, then goes on as `run`. */
  retry(failing: ReadonlySet<string>): void {
    const wave = this.waves[this.currentWave - 1] ?? [];
    const tried = wave.filter((id) => this.failed.delete(id));
    for (const id of tried) this.#deploy(id, failing);
    if (!this.#stopsFor(tried, failing)) this.run(failing);
  }

  /** Pauses for a failure that the policy does not tolerate, and rolls back if it is to. */
  #stopsFor(ids: readonly string[], failing: ReadonlySet<string>): boolean {
    if (this.#policy.tolerates || !ids.some((id) => failing.has(id))) return false;
    this.state = "paused";
    if (this.#policy.rollsBack) this.rollBack(failing);
    return true;
  }

  /**
   * A Pause while the first `done` of the current wave were in flight, and a Resume once they have ended. Their
   * failures are judged at the end of the wave as usual.
   */
  pauseDuring(done: readonly string[], failing: ReadonlySet<string>): void {
    const wave = this.waves[this.currentWave++] ?? [];
    for (const id of done) this.#deploy(id, failing);
    for (const id of wave.filter((one) => !done.includes(one))) this.#deploy(id, failing);
    if (!this.#stopsFor(wave, failing)) this.run(failing);
  }

  /** A Cancel while the first `done` of the current wave were in flight: those end, no other begins. */
  cancelDuring(done: readonly string[], failing: ReadonlySet<string>): void {
    this.currentWave++;
    for (const id of done) this.#deploy(id, failing);
    this.state = "cancelled";
  }

  cancel(): void {
    this.state = "cancelled";
  }

  /** The same for those that failed, too: one that fails again may have the image. */
  rollBackAll(failing: ReadonlySet<string>): string[] {
    for (const id of this.failed) this.succeeded.add(id);
    this.failed.clear();
    return this.rollBack(failing);
  }

  /** Puts back what took the image; what fails to go back stays in `succeeded`. Answers the reverted. */
  rollBack(failing: ReadonlySet<string>): string[] {
    const reverted = [...this.succeeded].filter((id) => !failing.has(id));
    for (const id of reverted) {
      this.running.set(id, this.#previous.get(id) ?? "");
      this.succeeded.delete(id);
    }
    this.state = "cancelled";
    return reverted;
  }

  #deploy(id: string, failing: ReadonlySet<string>): void {
    if (failing.has(id)) {
      this.failed.add(id);
    } else {
      this.succeeded.add(id);
      this.running.set(id, this.image);
    }
  }
}
