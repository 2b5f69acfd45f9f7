/**
 * A poll of a deploy, and further ones as soon as its workload has changed: sooner than the next poll would come. A watch of
 * each namespace and kind says when (https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes).
 * It only shortens a wait: what a workload is like is always read anew, so a watch that is late, lossy or refused does no
 * harm.
 */
import { EventEmitter, once } from "node:events";
import { z } from "zod";
import type { SentinelObservation } from "#fleet/drivers/driver.ts";
import { pause, within } from "#kernel/async.ts";
import { parseJson } from "#kernel/body.ts";
import { type Place, workloadsIn } from "./calls.ts";
import type { Cluster } from "./client.ts";

/** `isMoving`: a step was taken, after which there will soon be another one. */
export type StepObservation = SentinelObservation & { isMoving?: boolean };

/** The number of polls in one call, and the number when nothing moves. */
const mostPolls = 5;
const leastPolls = 2;

/** A pod that fails does not change its workload, which is looked at after this time anyway. */
const changeWithinMs = 1_000;

type Polling = {
  changes: Changes;
  signal: AbortSignal | undefined;
  poll: () => Promise<StepObservation>;
};

export async function pollAgain(place: Place, polling: Polling): Promise<SentinelObservation> {
  for (let polls = 1; ; polls++) {
    const { seen, isLast } = await pollOnce(place, polls, polling);
    if (isLast) return seen;
  }
}

async function pollOnce(place: Place, polls: number, { changes, signal, poll }: Polling) {
  const over = new AbortController();
  const ends = AbortSignal.any([over.signal, ...(signal === undefined ? [] : [signal])]);
  // Waits from before the look on: a change during it counts.
  const changed = changes.next(place, changeWithinMs, ends);
  try {
    const { isMoving = false, ...seen } = await poll();
    const isLast = isSettled(seen) || polls >= (isMoving ? mostPolls : leastPolls);
    if (!isLast) await changed;
    return { seen, isLast: isLast || ends.aborted };
  } finally {
    over.abort();
  }
}

/** It has ended, or there is nothing to wait for. */
function isSettled({ status, isOrdered }: SentinelObservation): boolean {
  return status !== "progressing" || isOrdered !== true;
}

/** The time for which the API server leaves a watch open (s). */
const watchSeconds = 240;
/** After a watch has failed, and for as long as nobody waits. */
const restMs = 5_000;
/** The limits of one event. */
const maxLineBytes = 4_194_304;
const mostParts = 100_000;

const Page = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

const WatchEvent = z.object({
  type: z.string(),
  object: z.object({ metadata: z.object({ name: z.string() }).nullish() }),
});

type Changes = {
  /** Resolves at the next change of the workload, after `limitMs`, or once `signal` is aborted. */
  next: (workload: Place, limitMs: number, signal: AbortSignal) => Promise<void>;
  stop: () => void;
};

export function createChanges(
  cluster: Pick<Cluster, "call" | "stream">,
  selector: string,
): Changes {
  const woken = new EventEmitter().setMaxListeners(0);
  const watched = new Set<string>();
  const stopped = new AbortController();

  /** `path`: of the workloads of one kind in one namespace. */
  const waitedFor = (path: string) =>
    woken.eventNames().filter((name) => String(name).startsWith(`${path}/`));

  const watchOnce = async (path: string): Promise<void> => {
    const { signal } = stopped;
    const query = { labelSelector: selector };
    const first = new URLSearchParams({ ...query, limit: "1" });
    const page = Page.parse(
      (await cluster.call({ method: "GET", path: `${path}?${first}`, signal })).body,
    );
    const { resourceVersion } = page.metadata;
    // Changes from before the watch starts count, too.
    for (const name of waitedFor(path)) woken.emit(name);
    const more = { watch: "1", resourceVersion, timeoutSeconds: String(watchSeconds) };
    const asked = `${path}?${new URLSearchParams({ ...query, ...more })}`;
    const limitMs = (watchSeconds + 15) * 1_000;
    for await (const line of cluster.stream({ path: asked, limitMs, signal, maxLineBytes })) {
      const event = WatchEvent.parse(parseJson(Buffer.from(line), mostParts));
      if (event.type === "ERROR") return;
      if (event.object.metadata) woken.emit(`${path}/${event.object.metadata.name}`);
    }
  };

  /** Watches as long as somebody waits. */
  const watch = async (path: string): Promise<void> => {
    if (watched.has(path)) return;
    watched.add(path);
    while (!stopped.signal.aborted && waitedFor(path).length > 0) {
      await watchOnce(path).catch(() => {});
      await pause(restMs * (0.5 + Math.random()), stopped.signal);
    }
    watched.delete(path);
  };

  return {
    next: async (workload, limitMs, signal) => {
      const path = workloadsIn(workload);
      const over = within(limitMs, AbortSignal.any([stopped.signal, signal]));
      const changed = once(woken, `${path}/${workload.name}`, { signal: over }).catch(() => {});
      void watch(path);
      await changed;
    },
    stop: () => stopped.abort(),
  };
}
