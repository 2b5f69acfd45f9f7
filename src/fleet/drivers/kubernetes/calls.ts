/** The few calls that a fleet of workloads takes: read, list, apply; `pod-calls.ts` has those of their pods. */
import type { DriverCall } from "#fleet/drivers/driver.ts";
import { type Cluster, type ClusterAnswer, listAll, messageOf, parseAnswer } from "./client.ts";
import { nameOfKind } from "./kinds.ts";
import { createPodCalls } from "./pod-calls.ts";
import { StatusBody, Workload, type WorkloadKind, WorkloadPage } from "./schemas.ts";

export type Place = { resource: WorkloadKind; namespace: string; name: string };

export type Change = {
  place: Place;
  resourceVersion: string;
  annotations: Record<string, string>;
  containers: readonly { name: string; image: string }[];
  /** Takes the image from whoever else has set it. */
  isForced: boolean;
};

/** `stale`: somebody has changed it since it was read. `refused`: for good, with a reason. */
export type ChangeResult = { kind: "done"; workload: Workload } | { kind: "stale" } | Refusal;
type Refusal = { kind: "refused"; reason: string };

/** `fieldManager`: under which name the API server notes what is ours. */
export function createCalls(cluster: Cluster, fieldManager: string) {
  return {
    /** undefined: there is no such workload. */
    async read(place: Place, signal?: AbortSignal): Promise<Workload | undefined> {
      const answer = await cluster.call({ method: "GET", path: pathOf(place), signal });
      return isNotFound(answer) ? undefined : workloadOf(answer, place.resource);
    },

    async list(of: WorkloadQuery): Promise<Workload[]> {
      const { resource, namespace, selector, name, signal } = of;
      const items = await listAll(cluster, {
        path: workloadsIn({ resource, namespace }),
        query: {
          labelSelector: selector,
          ...(name !== undefined && { fieldSelector: `metadata.name=${name}` }),
        },
        page: WorkloadPage,
        signal,
      });
      return items.map((item) => ({ ...item, resource }));
    },

    /** Server-side apply: the image and our annotations are ours, everything else stays its owners'. */
    async apply(change: Change, call: DriverCall = {}): Promise<ChangeResult> {
      const { place, resourceVersion, annotations, containers, isForced } = change;
      const force = isForced ? { force: "true" } : {};
      const query = new URLSearchParams({ fieldManager, ...force });
      const answer = await cluster.call({
        method: "PATCH",
        path: `${pathOf(place)}?${query}`,
        contentType: "application/apply-patch+yaml",
        body: {
          apiVersion: "apps/v1",
          kind: nameOfKind(place.resource),
          metadata: { name: place.name, namespace: place.namespace, resourceVersion, annotations },
          spec: { template: { spec: { containers } } },
        },
        signal: call.signal,
        isWanted: call.isWanted,
      });
      if (answer.status < 300)
        return { kind: "done", workload: workloadOf(answer, place.resource) };
      return refusalOf(answer);
    },

    ...createPodCalls(cluster),
  };
}

export type Calls = ReturnType<typeof createCalls>;

type WorkloadQuery = {
  resource: WorkloadKind;
  namespace: string;
  selector: string;
  name?: string;
  signal?: AbortSignal | undefined;
};

export function workloadsIn(place: Pick<Place, "resource" | "namespace">): string {
  return `/apis/apps/v1/namespaces/${encodeURIComponent(place.namespace)}/${place.resource}`;
}

function pathOf(place: Place): string {
  return `${workloadsIn(place)}/${encodeURIComponent(place.name)}`;
}

function workloadOf(answer: ClusterAnswer, resource: WorkloadKind): Workload {
  return { ...parseAnswer(Workload, answer), resource };
}

/** A proxy or another server may answer 404 too, which says nothing about the workload. */
function isNotFound({ status, body }: { status: number; body: unknown }): boolean {
  return status === 404 && StatusBody.safeParse(body).data?.reason === "NotFound";
}

/** There are two conflicts: a field that is somebody else's, and a workload that has changed meanwhile. */
function refusalOf(answer: { status: number; body: unknown }): ChangeResult {
  const { status, body } = answer;
  const { data } = StatusBody.safeParse(body);
  const causes = data?.details?.causes ?? [];
  const owners = causes.filter(({ reason }) => reason === "FieldManagerConflict");
  const words = messageOf(body);
  if (status === 409 && owners.length === 0) return { kind: "stale" };
  if (status === 409) return refused("conflict", owners[0]?.message ?? words);
  // It would be created: it was deleted after it had been read.
  const isGone = isNotFound(answer) || causes.some(({ field }) => field === "spec.selector");
  if (isGone) return refused("target_gone", "the workload is not there any more");
  return refused("config_invalid", words || `the API server answered ${status}`);
}

function refused(code: string, words: string): Refusal {
  return { kind: "refused", reason: `${code}: ${words}` };
}
