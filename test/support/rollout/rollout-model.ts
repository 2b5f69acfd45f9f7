/**
 * The table of states and operations (src/rollout/README.md, "States and transitions") as a plain model,
 * written without looking at the code.
 */

type State = "idle" | "in_progress" | "paused" | "completed" | "cancelled" | "rolling_back";

export type ModelOperation =
  | "Rollout"
  | "Resume"
  | "Pause"
  | "Skip"
  | "Approve"
  | "Confirm"
  | "Cancel"
  | "RollbackAll";

/** What a request says about failures and approvals, and whether each wave soaks until somebody ends it. */
export type ModelPolicy = {
  tolerates: boolean;
  rollsBack: boolean;
  soaks: boolean;
  approvals?: "last_wave" | "after_first" | "every_wave" | undefined;
  /** Whether the request has one percentage alone. */
  isOneWave?: boolean;
  /** A gate that somebody has to confirm, or a webhook that always says this. */
  gate?: "pause" | "pass" | "fail" | "pending" | undefined;
  /** Sentinels that may be unavailable at one time. */
  mostUnavailable?: number | undefined;
};

type ModelWait = "soak" | "gate" | "window" | "approval" | null;

const plain: ModelPolicy = { tolerates: false, rollsBack: false, soaks: false };

/** What Plan says of a rollout: who is in which wave, and how many are left out. */
type Plan = { waves: readonly { sentinels: string[] }[]; left_out_count: number };

const legal: Record<State, ModelOperation[]> = {
  idle: ["Rollout"],
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
  leftOut = 0;
  /** The sentinels that a pin holds back, whatever the rollout does. */
  pinned = new Set<string>();
  /** The sentinels that the reconciler holds, as they were changed by hand. */
  held = new Set<string>();
  /** Changes by hand for which a sentinel was held once, and orders of the reconciler: of an image and a sentinel each. */
  readonly #heldOnce = new Set<string>();
  readonly #tried = new Set<string>();
  /** Who had the image when an operator's rollout completed, if the reconciler has done another one since. */
  #took: ReadonlySet<string> | undefined;
  /** Whether a freeze is in force, whatever the rollout does. */
  isFrozen = false;
  waitingFor: ModelWait = null;
  /** Whether the first wave has started: the fleet's sentinels are known from then on. */
  isCaptured = false;
  #previous = new Map<string, string>();
  /** Who runs one of these again was put back, and not changed by hand. */
  readonly #replaced = new Set<string>();
  #policy = plain;
  /** Members of the current wave that are to be deployed, again or still. */
  #rest: string[] = [];
  /** What it waited for when it was paused. */
  #interrupted: ModelWait = null;
  #approved = new Set<number>();
  /** The gate before the next wave, while it is closed. */
  #closed: "pause" | "pending" | null = null;
  /** Whether the wave that starts next does so in a freeze, too. */
  #skipsWindow = false;

  constructor(running: Map<string, string>) {
    this.running = new Map(running);
  }

  allows(operation: ModelOperation): boolean {
    if (operation === "Skip") {
      const opensGate = this.waitingFor === "gate" && this.#closed === "pending";
      return this.waitingFor === "soak" || this.waitingFor === "window" || opensGate;
    }
    if (operation === "Confirm") return this.state === "in_progress" && this.#closed === "pause";
    if (operation === "Approve") return this.waitingFor === "approval";
    return legal[this.state].includes(operation);
  }

  /** Freezes the fleet: who is in which wave, and what each runs now. */
  begin(image: string, { waves, left_out_count }: Plan, policy = plain): void {
    this.#policy = policy;
    this.state = "in_progress";
    this.image = image;
    this.waves = waves.map(({ sentinels }) => sentinels);
    this.leftOut = left_out_count;
    this.currentWave = 0;
    this.isCaptured = false;
    this.succeeded = new Set();
    this.failed = new Set();
    this.#rest = [];
    this.#approved = new Set();
    this.#closed = null;
    this.#took = undefined;
    this.#skipsWindow = false;
    this.#previous = new Map(this.running);
    for (const [id, image] of this.running)
      if (!this.pinned.has(id) && !this.held.has(id)) this.#replaced.add(image);
  }

  /** Runs waves from the next one on until one fails, it has to wait, or all are done. */
  run(failing: ReadonlySet<string>): void {
    this.state = "in_progress";
    this.waitingFor = null;
    while (this.#rest.length > 0 || this.currentWave < this.waves.length) {
      this.waitingFor = this.#waitBeforeWave();
      if (this.waitingFor === null) this.#runWave(failing);
      if (this.waitingFor !== null || this.state !== "in_progress") return;
    }
    this.state = "completed";
  }

  #waitBeforeWave(): ModelWait {
    if (this.#closed !== null) return "gate";
    if (this.#lacksApproval()) return "approval";
    return this.isFrozen && !this.#skipsWindow ? "window" : null;
  }

  get #nextWave(): number {
    return this.#rest.length > 0 ? this.currentWave : this.currentWave + 1;
  }

  #lacksApproval(): boolean {
    const { approvals, isOneWave = false } = this.#policy;
    const wave = this.#nextWave;
    if (approvals === undefined || this.#approved.has(wave)) return false;
    if (approvals === "every_wave") return true;
    if (wave === 1) return isOneWave;
    return approvals === "after_first" || wave === this.waves.length;
  }

  #runWave(failing: ReadonlySet<string>): void {
    this.#skipsWindow = false;
    const ids = this.#rest.length > 0 ? this.#rest : (this.waves[this.currentWave++] ?? []);
    this.#rest = [];
    this.isCaptured = true;
    for (const id of ids) this.#deploy(id, failing);
    if (!this.#stopsFor(ids, failing)) this.#endWave(failing);
  }

  /** A gate closes before each next wave. One that fails stops a last wave that soaks, too. */
  #endWave(failing: ReadonlySet<string>): void {
    const { gate, soaks } = this.#policy;
    const isLast = this.currentWave === this.waves.length;
    if (gate === "fail" && (!isLast || soaks)) {
      this.#stop(failing);
      return;
    }
    if (!isLast && (gate === "pause" || gate === "pending")) this.#closed = gate;
    if (soaks) this.waitingFor = "soak";
  }

  /** Pauses, and rolls back if it is to. */
  #stop(failing: ReadonlySet<string>): void {
    this.state = "paused";
    if (this.#policy.rollsBack) this.rollBack(failing);
  }

  /** Deploys the failed members of the current wave again, then goes on as `run`. */
  retry(failing: ReadonlySet<string>): void {
    const wave = this.waves[this.currentWave - 1] ?? [];
    this.#rest.push(...wave.filter((id) => this.failed.delete(id)));
    if (this.#rest.length > 0) this.#interrupted = null;
    this.resume(failing);
  }

  /** Goes on with what a Pause has interrupted. */
  resume(failing: ReadonlySet<string>): void {
    const interrupted = this.#interrupted;
    this.#interrupted = null;
    if (interrupted !== "soak") {
      this.run(failing);
      return;
    }
    this.state = "in_progress";
    this.waitingFor = "soak";
  }

  /** Ends the wait: of a soak for good, of a gate or a window for one wave. */
  skip(failing: ReadonlySet<string>): void {
    if (this.waitingFor === "gate") this.#closed = null;
    this.#skipsWindow = this.waitingFor === "window";
    this.run(failing);
  }

  /** The gate is open; what else it waits for goes on. */
  confirm(failing: ReadonlySet<string>): void {
    this.#closed = null;
    if (this.waitingFor === "gate") this.run(failing);
  }

  /** An approval is for the wave that waits for it, until that wave has ended. */
  approve(failing: ReadonlySet<string>): void {
    this.#approved.add(this.#nextWave);
    this.run(failing);
  }

  /** A freeze that is over lets a wave start that has waited for nothing else. */
  thaw(failing: ReadonlySet<string>): void {
    this.isFrozen = false;
    if (this.waitingFor === "window") this.run(failing);
  }

  pause(): void {
    this.#interrupted = this.waitingFor;
    this.#skipsWindow = false;
    this.state = "paused";
    this.waitingFor = null;
  }

  /** Pauses for a failure that the policy does not tolerate, and rolls back if it is to. */
  #stopsFor(ids: readonly string[], failing: ReadonlySet<string>): boolean {
    if (this.#policy.tolerates || !ids.some((id) => this.failed.has(id) && failing.has(id)))
      return false;
    this.#stop(failing);
    return true;
  }

  /**
   * A Pause while the first `done` of the current wave were in flight, and a Resume once they have ended. Their
   * failures are judged at the end of the wave as usual.
   */
  pauseDuring(done: readonly string[], failing: ReadonlySet<string>): void {
    const wave = this.waves[this.currentWave++] ?? [];
    this.isCaptured = true;
    for (const id of done) this.#deploy(id, failing);
    for (const id of wave.filter((one) => !done.includes(one))) this.#deploy(id, failing);
    if (!this.#stopsFor(wave, failing)) this.run(failing);
  }

  /** A Cancel while the first `done` of the current wave were in flight: those end, no other begins. */
  cancelDuring(done: readonly string[], failing: ReadonlySet<string>): void {
    this.currentWave++;
    this.isCaptured = true;
    for (const id of done) this.#deploy(id, failing);
    this.state = "cancelled";
  }

  /** The bound of the newest rollout, which that of the reconciler has, too. */
  get mostUnavailable(): number | undefined {
    return this.#policy.mostUnavailable;
  }

  previousOf(id: string): string {
    return this.#previous.get(id) ?? "";
  }

  /** Whether what the reconciler starts comes to its end by itself. */
  get isReconcilable(): boolean {
    const { soaks, gate } = this.#policy;
    const isFree = !soaks && gate !== "fail" && gate !== "pending" && !this.isFrozen;
    return this.state === "completed" && isFree;
  }

  /** Holds who was changed by hand, and brings the others back, but for those that are held. Answers the latter. */
  reconcile(isOfHand: (image: string) => boolean): string[] {
    const took = this.#took ?? this.succeeded;
    const drifted = [...this.running].filter(
      ([id, image]) => image !== this.image && !this.pinned.has(id) && !this.held.has(id),
    );
    const isNew = (image: string) => isOfHand(image) && !this.#replaced.has(image);
    const byHand = drifted.filter(
      ([id, image]) => took.has(id) && isNew(image) && !this.#heldOnce.has(`${id} ${image}`),
    );
    for (const [id, image] of byHand) {
      this.held.add(id);
      this.#heldOnce.add(`${id} ${image}`);
    }
    const due = drifted
      .map(([id]) => id)
      .filter((id) => !this.held.has(id) && !this.#tried.has(`${id} ${this.image}`));
    for (const id of due) {
      this.running.set(id, this.image);
      this.#tried.add(`${id} ${this.image}`);
    }
    if (due.length > 0) this.#took = took;
    return due;
  }

  /** Takes the reconciler's rollout for the newest one: who is in which of its waves decides nothing any more. */
  adopt(succeeded: string[], of: { waves: number; leftOut: number }): void {
    this.succeeded = new Set(succeeded);
    this.failed = new Set();
    this.waves = Array.from({ length: of.waves }, () => []);
    this.currentWave = of.waves;
    this.leftOut = of.leftOut;
  }

  cancel(): void {
    this.state = "cancelled";
    this.waitingFor = null;
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
    if (this.pinned.has(id) || this.held.has(id)) {
      this.leftOut++;
    } else if (failing.has(id)) {
      this.failed.add(id);
    } else {
      this.succeeded.add(id);
      this.running.set(id, this.image);
    }
  }
}
