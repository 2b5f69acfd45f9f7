/** Reads of sets and their pods. Members that want one at the same time share it: a DaemonSet has many of them. */
import type { Calls, Place } from "#fleet/drivers/kubernetes/calls.ts";
import { hasMembers } from "#fleet/drivers/kubernetes/kinds.ts";
import type { Workload } from "#fleet/drivers/kubernetes/schemas.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import { buildLook, type SetLook } from "./look.ts";

export type Looks = {
  /** Begins after it is asked for. undefined: there is no such set, or it has no members. */
  of: (place: Place, signal?: AbortSignal) => Promise<SetLook | undefined>;
  /** With the set as it was read already. */
  ofSet: (set: Workload, signal?: AbortSignal) => Promise<SetLook>;
};

type Read = Promise<SetLook | undefined>;

export function createLooks(calls: Pick<Calls, "read" | "madePods">, fieldManager: string): Looks {
  const running = new Map<string, Read>();
  const next = new Map<string, Read>();

  const ofSet = async (set: Workload, signal?: AbortSignal) =>
    buildLook(set, await calls.madePods(set, signal), fieldManager);

  const read = async (place: Place): Read => {
    const set = await calls.read(place);
    return set === undefined || !hasMembers(set) ? undefined : ofSet(set);
  };

  /** After the one that is under way, whose answers may be from before. */
  const start = async (place: Place, key: string): Read => {
    await running.get(key)?.catch(() => {});
    const begun = read(place);
    next.delete(key);
    running.set(key, begun);
    try {
      return await begun;
    } finally {
      if (running.get(key) === begun) running.delete(key);
    }
  };

  return {
    ofSet,
    of: async (place, signal) => {
      const key = `${place.resource}/${place.namespace}/${place.name}`;
      const shared = next.get(key) ?? start(place, key);
      next.set(key, shared);
      return unlessAborted(shared, signal);
    },
  };
}
