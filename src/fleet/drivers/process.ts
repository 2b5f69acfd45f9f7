/** Sentinels as child processes of this machine: the fleet for a laptop and for tests. */
import pLimit from "p-limit";
import { inTime, unlessAborted } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { endProcess, isAlive } from "#kernel/process.ts";
import {
  type DeployOrder,
  type Driver,
  type SentinelObservation,
  UnwantedError,
} from "./driver.ts";
import { markOfKey, readCountersOf } from "./process-child.ts";
import { readProcessLog } from "./process-logs.ts";
import { canaryName, createNewcomers } from "./process-newcomers.ts";
import { type ReplacementParts, replaceProcess } from "./process-replacement.ts";
import { createStateFiles, type SentinelState } from "./process-state.ts";

export type ProcessDriverSettings = Omit<ReplacementParts, "files"> & {
  /** The directory of the sentinels' state and log files. */
  directory: string;
  size: number;
  /** The first sentinel's port, the next one's is one higher; 0 takes free ones. */
  basePort: number;
  log: Log;
};

/** The number of processes started at once: more would only compete for the machine's few cores. */
const startsAtOnce = 4;

const watchEveryMs = 1_000;

/** The wait of a list for the sentinels that served before a restart; some hundred take as long. */
const reviveWithinMs = 120_000;
const longestPauseMs = 30_000;

export function createProcessDriver(settings: ProcessDriverSettings): Driver {
  const files = createStateFiles(settings.directory);
  const fleet = new ProcessFleet({ ...settings, files });
  return {
    list: async (signal) => {
      await fleet.revived(signal);
      return fleet.all().map((state) => ({
        id: state.id,
        region: state.region,
        image: state.image,
        running_image: state.runningImage,
        healthy: fleet.isServing(state.id),
        labels: { tier: state.id === canaryName ? "canary" : "stable" },
      }));
    },
    apply: async ({ sentinelId, image, deployId }, { isWanted = () => true } = {}) => {
      if (!isWanted()) throw new UnwantedError("the order is no longer wanted");
      const state = fleet.find(sentinelId);
      if (state === undefined) return { failure: `target_gone: no sentinel ${sentinelId} here` };
      if (state.deployId !== deployId) fleet.order({ ...state, image, deployId, failure: null });
      return {};
    },
    observe: async (order) => fleet.observe(order),
    readLog: async ({ sentinelId, deployId }) => {
      const state = fleet.find(sentinelId);
      if (state === undefined) return { absent: `no sentinel ${sentinelId} here` };
      return readProcessLog(state, deployId, { files, rootKey: settings.rootKey });
    },
    readCounters: () => readCountersOf(fleet.all()),
    start: () => fleet.start(),
    populate: () => fleet.populate(),
    stop: () => fleet.stop(),
  };
}

type FleetParts = ProcessDriverSettings & ReplacementParts;

class ProcessFleet {
  readonly #parts: FleetParts;
  readonly #states = new Map<string, SentinelState>();
  readonly #replacing = new Map<string, Promise<void>>();
  readonly #limit = pLimit(startsAtOnce);
  readonly #pauses = new Map<string, { pauseMs: number; untilMs: number }>();
  readonly #revived = Promise.withResolvers<void>();
  /** The sentinels whose state is not stored, because the disk is full. */
  readonly #unstored = new Set<string>();
  #watch: NodeJS.Timeout | undefined;
  #isStopping = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  all(): SentinelState[] {
    return [...this.#states.values()];
  }

  find(id: string): SentinelState | undefined {
    return this.#states.get(id);
  }

  isServing(id: string): boolean {
    const serving = this.#states.get(id)?.serving;
    return serving !== null && serving !== undefined && isAlive(serving);
  }

  /** Adopts the processes that still run. */
  async start(): Promise<void> {
    for (const state of this.#parts.files.readAll()) this.#states.set(state.id, state);
    for (const state of await createNewcomers(this.#parts, this.all())) this.#keep(state);
    if (this.#down().length === 0) this.#revived.resolve();
  }

  /** Returns the sentinels that served before this start, and don't. */
  #down(): string[] {
    const down = this.all().filter(({ id, serving }) => serving !== null && !this.isServing(id));
    return down.map(({ id }) => id);
  }

  /** Begins to start the others, and checks all of them regularly. */
  async populate(): Promise<void> {
    if (this.#isStopping) return;
    const down = this.#down();
    this.#repair();
    this.#renewKeys();
    this.#watch = setInterval(() => this.#repair(), watchEveryMs);
    const settled = Promise.all(this.#replacing.values());
    const revived = Promise.all(down.map((id) => this.#replacing.get(id)));
    await inTime(() => revived, { limitMs: reviveWithinMs, otherwise: [] });
    this.#revived.resolve();
    await settled;
  }

  /** Waits for the sentinels from before a restart: until then a rollout would take them for failures. */
  revived(signal: AbortSignal | undefined): Promise<void> {
    return unlessAborted(this.#revived.promise, signal);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#watch);
    await Promise.all(this.#replacing.values());
    const children = this.all().flatMap(({ serving, candidate }) => [serving, candidate]);
    await Promise.all(
      children
        .filter((child) => child !== null)
        .map((child) => endProcess(child, { signal: "SIGTERM", graceMs: 12_000 })),
    );
  }

  /** Stores an order and begins to carry it out. Throws when it cannot be stored. */
  order(state: SentinelState): void {
    this.#parts.files.write(state);
    this.#keep(state);
    if (state.runningImage !== state.image || !this.isServing(state.id)) this.#replace(state.id);
  }

  observe({ sentinelId: id, image, deployId }: DeployOrder): SentinelObservation {
    const state = this.#states.get(id);
    if (state === undefined) {
      return { status: "failed", reason: `target_gone: no sentinel ${id} here` };
    }
    const { runningImage, failure } = state;
    const healthy = this.isServing(id);
    const running_image = healthy ? runningImage : "";
    const isOrdered = state.deployId === deployId;
    if (this.#replacing.has(id) || state.image !== image) {
      return { status: "progressing", running_image, isOrdered };
    }
    if (failure !== null) {
      return { status: "failed", running_image, healthy, isOrdered, reason: failure };
    }
    const isReady = running_image === image;
    return { status: isReady ? "ready" : "progressing", running_image, isOrdered };
  }

  /** Repeats replacements that a crash of ours interrupted, and restarts processes that have ended. */
  #repair(): void {
    const ended: SentinelState[] = [];
    for (const state of this.all()) {
      if (this.#replacing.has(state.id)) continue;
      if (this.#unstored.has(state.id)) this.#keep(state);
      const isInterrupted = state.failure === null && state.runningImage !== state.image;
      if (isInterrupted) this.#replace(state.id);
      else if (!this.isServing(state.id) && this.#isTimeToRevive(state.id)) ended.push(state);
    }
    this.#reviveAll(ended);
  }

  /** Logs one line, as a start has all of them. */
  #reviveAll(states: readonly SentinelState[]): void {
    const [first] = states;
    if (first === undefined) return;
    const { log } = this.#parts;
    if (states.length > 1) log.info(`${states.length} sentinels start`);
    else log.info({ sentinel: first.id }, "starting sentinel process");
    for (const state of states) this.#revive(state);
  }

  #isTimeToRevive(id: string): boolean {
    return performance.now() >= (this.#pauses.get(id)?.untilMs ?? 0);
  }

  /** Backoff for a sentinel that cannot be started, for example because its port is in use. */
  #pauseAfter(id: string, failure: string | null): void {
    const lastMs = this.#pauses.get(id)?.pauseMs ?? watchEveryMs / 2;
    this.#pauses.delete(id);
    if (failure === null) return;
    const pauseMs = Math.min(lastMs * 2, longestPauseMs);
    this.#pauses.set(id, { pauseMs, untilMs: performance.now() + pauseMs });
  }

  /** Replaces processes from before our restart that have another root key than the current one. */
  #renewKeys(): void {
    const mark = markOfKey(this.#parts.rootKey);
    this.#reviveAll(
      this.all().filter(({ id, serving }) => this.isServing(id) && serving?.keyMark !== mark),
    );
  }

  /** Restarts a sentinel with the image that it ran, even if another one was ordered and failed. */
  #revive(state: SentinelState): void {
    const { image, failure } = state;
    this.#work(state.id, async () => {
      // An order that came while it waited for its turn is carried out at once.
      if (this.#states.get(state.id)?.deployId !== state.deployId) return this.#carryOut(state.id);
      const revival = { ...state, image: state.runningImage };
      // The state on disk keeps the ordered image, which may differ from the one that is restarted.
      const parts = { ...this.#partsKeeping(state, () => true), isRevival: true };
      const revived = await replaceProcess(revival, parts);
      this.#pauseAfter(state.id, revived.failure);
      if (revived.failure !== null) {
        this.#parts.log.error({ sentinel: state.id, reason: revived.failure }, "sentinel is down");
      }
      const latest = this.#states.get(state.id) ?? state;
      const isReordered = latest.deployId !== state.deployId;
      const kept = isReordered ? latest : { ...revived, image, failure };
      this.#keep({ ...kept, serving: revived.serving, candidate: null });
    });
  }

  #replace(id: string): void {
    this.#work(id, () => this.#carryOut(id));
  }

  async #carryOut(id: string): Promise<void> {
    const state = this.#states.get(id) as SentinelState;
    const parts = this.#partsKeeping(state, ({ deployId }) => deployId !== state.deployId);
    const replaced = await replaceProcess(state, parts);
    const latest = this.#states.get(id) ?? state;
    // An order that came meanwhile is kept; `#repair` finds it and carries it out.
    const { serving, runningImage } = replaced;
    const isReordered = latest.deployId !== state.deployId;
    if (replaced.failure === null) this.#pauses.delete(id);
    this.#keep(isReordered ? { ...latest, serving, runningImage, candidate: null } : replaced);
  }

  /** State files for a replacement, in which a newer order is not overwritten. */
  #partsKeeping(state: SentinelState, isOther: (latest: SentinelState) => boolean): FleetParts {
    const { files } = this.#parts;
    const write = (current: SentinelState) => {
      const latest = this.#states.get(state.id) ?? state;
      const { image, deployId, failure } = latest;
      files.write(isOther(latest) ? { ...current, image, deployId, failure } : current);
    };
    return { ...this.#parts, files: { ...files, write } };
  }

  #work(id: string, action: () => Promise<void>): void {
    if (this.#replacing.has(id) || this.#isStopping) return;
    const work = this.#limit(async () => {
      if (!this.#isStopping) await action();
    })
      .catch((err: unknown) =>
        this.#parts.log.error({ sentinel: id, err }, "sentinel not replaced"),
      )
      .finally(() => this.#replacing.delete(id));
    this.#replacing.set(id, work);
  }

  /** Keeps in memory what cannot be stored now, so that its processes stop with this one. */
  #keep(state: SentinelState): void {
    const { id } = state;
    this.#states.set(id, state);
    try {
      this.#parts.files.write(state);
      this.#unstored.delete(id);
    } catch (err) {
      if (!this.#unstored.has(id)) this.#parts.log.error({ sentinel: id, err }, "state not stored");
      this.#unstored.add(id);
    }
  }
}
