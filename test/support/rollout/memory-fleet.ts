/** A fleet in memory behind the driver contract: quick, scripted, and it remembers what it was told. */
import { type Driver, UnwantedError } from "#fleet/drivers/driver.ts";
import { imageV1 } from "./rollout-builders.ts";

type Behaviour = { status: "ready" } | { status: "failed"; reason: string; isOfApi?: true };

type Member = {
  region: string;
  image: string;
  running: string;
  labels?: Record<string, string>;
  pending?: Behaviour;
};

type AppliedOrder = { id: string; deployId: string; image: string; atMs: number };

export type MemoryFleet = ReturnType<typeof createMemoryFleet>;

/** Sentinels s01… over three regions; all deploys succeed at once until told otherwise. */
export function createMemoryFleet(size: number) {
  const members = new Map<string, Member>();
  const applied: AppliedOrder[] = [];
  const settled = new Set<string>();
  const sick = new Set<string>();
  let behave: (id: string, image: string) => Behaviour = () => ({ status: "ready" });
  let isHeld = false;
  let isAway = false;
  let listGate = Promise.withResolvers<void>();
  listGate.resolve();
  let waitingForList = 0;
  let lists = 0;
  let inFlight = 0;
  let maxInFlight = 0;

  const reset = () => {
    sick.clear();
    settled.clear();
    inFlight = 0;
    for (let i = 1; i <= size; i++) {
      const id = `s${String(i).padStart(2, "0")}`;
      const region = ["eu", "us", "ap"][i % 3] ?? "";
      members.set(id, { region, image: imageV1, running: imageV1 });
    }
  };
  reset();

  const settle = (id: string) => {
    const member = members.get(id);
    if (member?.pending === undefined || isHeld) return;
    if (member.pending.status === "ready") member.running = member.image;
    if (!settled.has(id)) inFlight--;
    settled.add(id);
  };

  const driver: Driver = {
    list: async () => {
      waitingForList++;
      await listGate.promise;
      waitingForList--;
      lists++;
      if (isAway) throw new Error("unreachable: the fleet is away");
      return [...members].map(([id, { region, image, running, labels = {} }]) => ({
        id,
        region,
        labels,
        image,
        running_image: running,
        healthy: !sick.has(id),
      }));
    },
    apply: async ({ sentinelId: id, deployId, image }, { isWanted = () => true } = {}) => {
      if (!isWanted()) throw new UnwantedError();
      const member = members.get(id);
      if (member === undefined) return { failure: "target_gone" };
      applied.push({ id, deployId, image, atMs: Date.now() });
      inFlight++;
      maxInFlight = Math.max(maxInFlight, inFlight);
      settled.delete(id);
      members.set(id, { ...member, image, pending: behave(id, image) });
      return {};
    },
    observe: async ({ sentinelId: id, image }) => {
      settle(id);
      const member = members.get(id);
      if (member?.pending === undefined) return { status: "failed", reason: "target_gone" };
      const seen = { running_image: member.running, isOrdered: member.image === image };
      if (isHeld && !settled.has(id)) return { status: "progressing", ...seen };
      return { ...member.pending, ...seen };
    },
    start: async () => {},
    stop: async () => {},
  };

  return {
    driver,
    applied,
    reset,
    /** Decides what comes of each deploy from now on. */
    behave: (decide: typeof behave) => {
      behave = decide;
    },
    /** Keeps every deploy in flight until `release`. */
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
    },
    /** Whether the fleet cannot be listed. */
    away: (away: boolean) => {
      isAway = away;
    },
    /** It runs this image from now on, whatever became of its deploy. */
    run: (id: string, image: string) => {
      const member = members.get(id);
      if (member !== undefined) members.set(id, { ...member, running: image });
    },
    /** Leaves whoever asks for the list without an answer until `releaseList`. */
    holdList: () => {
      listGate = Promise.withResolvers();
    },
    releaseList: () => listGate.resolve(),
    /** How often it was listed. */
    lists: () => lists,
    /** How many wait for the list. */
    waitingForList: () => waitingForList,
    /** The fleet lists it from now on. */
    add: (id: string) => {
      members.set(id, { region: "eu", image: imageV1, running: imageV1 });
    },
    /** The fleet does not list it any more. */
    remove: (id: string) => {
      members.delete(id);
    },
    /** These have the labels until the fleet is reset. */
    label: (labels: Record<string, string>, ...ids: string[]) => {
      for (const id of ids) {
        const member = members.get(id);
        if (member !== undefined) members.set(id, { ...member, labels });
      }
    },
    /** These list themselves as unhealthy from now on; without ids all are healthy again. */
    sicken: (...ids: string[]) => {
      sick.clear();
      for (const id of ids) sick.add(id);
    },
    /** Something else than us has put this image back. */
    revert: (id: string, image: string) => {
      const member = members.get(id);
      if (member !== undefined) members.set(id, { ...member, running: image });
    },
    running: () => new Map([...members].map(([id, { running }]) => [id, running])),
    /** How many have an order that has not ended. */
    inFlight: () =>
      [...members].filter(([id, { pending }]) => pending !== undefined && !settled.has(id)).length,
    maxInFlight: () => maxInFlight,
    forgetMaxInFlight: () => {
      maxInFlight = inFlight;
    },
  };
}

/** Fails the deploys of these sentinels, whatever the image. */
export function failing(ids: Iterable<string>, reason = "crash_loop: exit code 1") {
  const set = new Set(ids);
  return (id: string): Behaviour =>
    set.has(id) ? { status: "failed", reason } : { status: "ready" };
}
