/** Finds the workloads of the cluster that are the fleet's, and the one that an id means. */
import type { Log } from "#kernel/log.ts";
import type { Calls, Place } from "./calls.ts";
import { nameOfKind } from "./kinds.ts";
import type { Workload, WorkloadKind } from "./schemas.ts";

export type FleetOf = {
  namespaces: readonly string[];
  /** The kinds in order of precedence: of two of one name the first is a sentinel. */
  kinds: readonly WorkloadKind[];
  selector: string;
};

export type Target = { place: Place; member: string | undefined };

export function createFleet(
  calls: Pick<Calls, "list">,
  { namespaces, kinds, selector }: FleetOf,
  log: Log,
) {
  /** The kind of each workload, as far as it is known. */
  let known = new Map<string, WorkloadKind>();

  const list = async (signal?: AbortSignal): Promise<Workload[]> => {
    const asked = kinds.flatMap((resource) =>
      namespaces.map((namespace) => calls.list({ resource, namespace, selector, signal })),
    );
    const all = (await Promise.all(asked)).flat();
    const byId = new Map<string, Workload>();
    for (const workload of all) {
      const other = byId.get(idOf(workload));
      if (other === undefined) byId.set(idOf(workload), workload);
      else warnOfLeftOut(workload, other, log);
    }
    known = new Map([...byId].map(([id, { resource }]) => [id, resource]));
    return [...byId.values()];
  };

  const kindOf = async (namespace: string, name: string, signal?: AbortSignal) => {
    const [only, ...others] = kinds;
    if (others.length === 0) return only;
    const found = known.get(`${namespace}/${name}`);
    if (found !== undefined) return found;
    for (const resource of kinds) {
      const [workload] = await calls.list({ resource, namespace, selector, name, signal });
      if (workload === undefined) continue;
      known.set(idOf(workload), resource);
      return resource;
    }
    return undefined;
  };

  return {
    list,
    /** undefined: no workload of the fleet. */
    async find(sentinelId: string, signal?: AbortSignal): Promise<Target | undefined> {
      const [namespace = "", name = "", member, ...more] = sentinelId.split("/");
      if (!namespaces.includes(namespace) || name === "" || member === "" || more.length > 0) {
        return undefined;
      }
      const resource = await kindOf(namespace, name, signal);
      if (resource === undefined || (resource === "deployments" && member !== undefined)) {
        return undefined;
      }
      return { place: { resource, namespace, name }, member };
    },
  };
}

function warnOfLeftOut(workload: Workload, other: Workload, log: Log): void {
  const fields = { sentinel: idOf(other), kind: nameOfKind(workload.resource) };
  log.warn(fields, "workload left out: another kind has its name");
}

export function idOf({ metadata }: Workload): string {
  return `${metadata.namespace}/${metadata.name}`;
}
