/** One host of the fleet: its sentinels, and orders to them. */
import type { ReasonCode } from "#fleet/contract.ts";
import {
  type ApplyResult,
  type DeployOrder,
  type DriverCall,
  type ListedSentinel,
  type LogCall,
  type LogTail,
  type SentinelObservation,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { unlessAborted } from "#kernel/async.ts";
import { hasDigest, isSameContent } from "#kernel/image-reference.ts";
import type { Log } from "#kernel/log.ts";
import { createContainer } from "./changes.ts";
import {
  createContainers,
  createImages,
  groupListed,
  type HostNames,
  toListed,
} from "./containers.ts";
import { createBody, findObstacle } from "./create-body.ts";
import type { Engine } from "./engine.ts";
import {
  deployLabel,
  type Family,
  findOfDeploy,
  imageLabel,
  nameOf,
  readyWithinLabel,
  replacesLabel,
  unfinishedDeploy,
  wasRunningLabel,
} from "./family.ts";
import { runsWell } from "./judge.ts";
import { readContainerLog } from "./logs.ts";
import { observeFamily } from "./observe.ts";
import { createPull, type FindCredential } from "./pull.ts";
import { nameForEngine, type PullFailure } from "./reference.ts";
import { createReplacements, type ReplacementLimits } from "./replacement.ts";
import type { ContainerInfo, ImageInfo } from "./schemas.ts";

type HostParts = HostNames & {
  /** A label of Docker's filter, `name` or `name=value`. */
  label: string;
  engine: Engine;
  limits: ReplacementLimits;
  /** The time for which an image with a digest may be missing at its registry. */
  imageWaitMs: number;
  findCredential: FindCredential;
  log: Log;
};

/** An order to the sentinel with this name on this host. */
type HostOrder = Omit<DeployOrder, "sentinelId"> & { name: string };

/** A container is started and looked at, however long its image took. */
const leastLeftMs = 1_000;

export class DockerHost {
  readonly #parts: HostParts;
  readonly #containers;
  readonly #asked = new AskedOrders();
  readonly #pull;
  readonly #replacements;
  #isResuming = false;

  constructor(parts: HostParts) {
    const { engine, label, limits, findCredential, log } = parts;
    this.#parts = parts;
    this.#containers = createContainers(engine, label);
    this.#pull = createPull(engine, { findCredential, limitMs: limits.readyTimeoutMs });
    this.#replacements = createReplacements({ engine, containers: this.#containers, limits, log });
  }

  /** Goes on with replacements that nobody may ask about any more, too: their processes have ended. */
  async list(signal?: AbortSignal): Promise<ListedSentinel[]> {
    const families = groupListed(await this.#containers.list(signal));
    if (!this.#isResuming) void this.#resume(families);
    const images = createImages(this.#containers, signal);
    const listed = await Promise.all(
      [...families].map(([name, members]) =>
        toListed(this.#parts, { ...members, name }, images.nameOfListed),
      ),
    );
    return listed.flat();
  }

  /** An order is given once its container is created: from then on any process brings it to its end. */
  async apply(order: HostOrder, call: DriverCall): Promise<ApplyResult> {
    const { name, deployId } = order;
    const { family } = await this.#containers.readFamily(name, call.signal);
    if (findOfDeploy(family, deployId) !== undefined) {
      this.#replacements.continue(name, deployId);
      return {};
    }
    const before = unfinishedDeploy(family);
    if (before !== undefined) {
      await within(this.#replacements.giveUp(name, before), call.signal);
      throw new UnreachableError(`unreachable: ${name} was still being replaced`);
    }
    this.#asked.add(deployId);
    const prepared = await this.#prepare(order, family, call);
    if (prepared.old === undefined) return prepared;
    return this.#create(order, prepared, call);
  }

  async #prepare(order: HostOrder, family: Family, { signal }: DriverCall): Promise<Prepared> {
    const old = family.current ?? family.previous;
    if (old === undefined) return { failure: gone(order.name) };
    const images = createImages(this.#containers, signal);
    if (runsWell(old) && isSameContent(await images.nameOf(old), order.image)) return {};
    const obstacle = findObstacle(old);
    if (obstacle !== undefined) return { failure: obstacle };
    const failure = await within(this.#pull(order.image), signal);
    if (failure?.isPermanent && !this.#mayCome(order, failure)) return { failure: failure.reason };
    if (failure !== undefined) throw new UnreachableError(failure.reason);
    // An image that was removed by force has left its container behind: nothing tells what is the container's own.
    const base = await images.read(old.Image);
    return base === undefined ? { failure: noBase } : { old, base };
  }

  async #create(order: HostOrder, { old, base }: Ready, call: DriverCall): Promise<ApplyResult> {
    const { name, image, deployId } = order;
    const { engine, label } = this.#parts;
    const labels = {
      ...labelOf(old, label),
      [deployLabel]: deployId,
      [imageLabel]: image,
      [replacesLabel]: old.Id,
      [wasRunningLabel]: String(old.State.Running),
      [readyWithinLabel]: String(this.#leftMs(deployId)),
    };
    const everyNetwork = await engine.everyNetwork();
    const body = createBody(old, base, { image: nameForEngine(image), labels, everyNetwork });
    const next = { name: nameOf(name, "next"), body, isWanted: call.isWanted };
    const created = await createContainer(engine, next);
    if (created === "created") {
      this.#replacements.continue(name, deployId);
      return {};
    }
    if (created !== "taken") return { failure: `${codeOf.invalid}: ${created.refused}` };
    const { family } = await this.#containers.readFamily(name);
    if (family.next !== undefined) throw new UnreachableError(`unreachable: ${name} is replaced`);
    return { failure: `${codeOf.conflict}: another container is named ${name}.next` };
  }

  /** Registries copy to one another what one of them has already. */
  #mayCome({ image, deployId }: HostOrder, { reason }: PullFailure): boolean {
    const askedMs = this.#asked.msSince(deployId);
    const isMissing = reason.startsWith("image_not_found" satisfies ReasonCode);
    const { imageWaitMs, limits } = this.#parts;
    // An image that is still missing when the deploy's time ends would count as the engine's failure.
    const waitMs = Math.min(imageWaitMs, 0.9 * limits.readyTimeoutMs);
    return isMissing && hasDigest(image) && askedMs < waitMs;
  }

  /** Returns the deploy's remaining time, after the time that the pull took in this process. */
  #leftMs(deployId: string): number {
    const tookMs = this.#asked.msSince(deployId);
    this.#asked.delete(deployId);
    return Math.max(leastLeftMs, Math.round(this.#parts.limits.readyTimeoutMs - tookMs));
  }

  async observe(order: HostOrder, { signal }: DriverCall): Promise<SentinelObservation> {
    const { name, deployId } = order;
    const { family, nowMs } = await this.#containers.readFamily(name, signal);
    const serving = family.current ?? family.previous;
    const images = createImages(this.#containers, signal);
    const runningImage = serving && (await images.nameOf(serving));
    const limits = { ...this.#parts.limits, nowMs, runningImage };
    const { observation, isUnfinished } = observeFamily(family, order, limits);
    if (!isUnfinished) return observation;
    const refusal = this.#replacements.refusal(name, deployId);
    this.#replacements.continue(name, deployId);
    if (refusal !== undefined) throw refusal;
    return observation;
  }

  async readLog(name: string, deployId: string | undefined, call: LogCall): Promise<LogTail> {
    const { family } = await this.#containers.readFamily(name, call.signal);
    const container =
      deployId === undefined
        ? (family.current ?? family.previous)
        : findOfDeploy(family, deployId)?.container;
    if (container === undefined) return { absent: "there is no container of it" };
    return readContainerLog(this.#parts.engine, container, call);
  }

  /** One at a time: a host that is slow to answer is listed again meanwhile. */
  async #resume(families: ReturnType<typeof groupListed>): Promise<void> {
    this.#isResuming = true;
    for (const [name, { next, previous, failing }] of families) {
      if ((next ?? previous ?? failing) === undefined) continue;
      await this.#resumeOne(name).catch(({ message: reason }: Error) => {
        this.#parts.log.warn({ sentinel: name, reason }, "replacement not gone on with");
      });
    }
    this.#isResuming = false;
  }

  async #resumeOne(name: string): Promise<void> {
    const { family } = await this.#containers.readFamily(name);
    const deployId = unfinishedDeploy(family);
    if (deployId !== undefined) this.#replacements.continue(name, deployId);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#replacements.stop(), this.#parts.engine.stop()]);
  }
}

const mostAsked = 10_000;
/** Longer than between two polls of a deploy. */
const askedAgainMs = 60_000;

/** When orders were first asked for. One that is asked for again after a pause of its rollout has all of its time once more. */
export class AskedOrders {
  readonly #known = new Map<string, { firstMs: number; lastMs: number }>();

  add(deployId: string): void {
    const lastMs = performance.now();
    const before = this.#known.get(deployId);
    const isPolled = before !== undefined && lastMs - before.lastMs < askedAgainMs;
    if (this.#known.size >= mostAsked) this.#known.clear();
    this.#known.set(deployId, { firstMs: isPolled ? before.firstMs : lastMs, lastMs });
  }

  /** 0: it is not known. */
  msSince(deployId: string): number {
    const { firstMs } = this.#known.get(deployId) ?? {};
    return firstMs === undefined ? 0 : performance.now() - firstMs;
  }

  delete(deployId: string): void {
    this.#known.delete(deployId);
  }
}

/** The container and the image that a new container is made after. */
type Ready = { old: ContainerInfo; base: ImageInfo };

/** `old` absent: there is nothing to create, or `failure`. */
type Prepared = { failure?: string; old?: undefined } | (Ready & { failure?: undefined });

const codeOf = {
  invalid: "config_invalid" satisfies ReasonCode,
  conflict: "conflict" satisfies ReasonCode,
};

const noBase = `${codeOf.invalid}: the image of the running container has been removed`;

function gone(name: string): string {
  return `${"target_gone" satisfies ReasonCode}: there is no container ${name}`;
}

/** The label by which the sentinel was found: the old one may have it from its image. */
function labelOf({ Config: { Labels } }: ContainerInfo, label: string): Record<string, string> {
  const [key = ""] = label.split("=");
  return { [key]: Labels[key] ?? "" };
}

/** Waits for work that continues after the call has ended: the next one waits for the same. */
async function within<Result>(work: Promise<Result>, signal?: AbortSignal): Promise<Result> {
  try {
    return await unlessAborted(work, signal);
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    const code: ReasonCode = "pull_backoff";
    throw new UnreachableError(`${code}: the image is not there yet`, { cause: error });
  }
}
