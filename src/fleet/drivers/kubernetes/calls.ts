/** The few calls that a fleet of workloads takes: read, list, apply. */
import type { z } from "zod";
import type { DriverCall } from "#fleet/drivers/driver.ts";
import { UnreachableError } from "#fleet/drivers/driver.ts";
import { type Cluster, messageOf, parseAnswer } from "./client.ts";
import { type Generations, splitPods } from "./generations.ts";
import {
  type Pod,
  PodPage,
  type ReplicaSet,
  ReplicaSetPage,
  StatusBody,
  Workload,
  WorkloadPage,
} from "./schemas.ts";

export type Place = { namespace: string; name: string };

const pageSize = 500;
/** A list with more pages has cursors that repeat. */
const maxPages = 200;

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
  const pathOf = ({ namespace, name }: Place) =>
    `${deploymentsOf(namespace)}/${encodeURIComponent(name)}`;

  const listAll = async <Item>(
    path: string,
    query: Record<string, string>,
    { page, signal }: { page: z.ZodType<PageOf<Item>>; signal: AbortSignal | undefined },
  ): Promise<Item[]> => {
    const items: Item[] = [];
    let cursor = "";
    for (let n = 0; n < maxPages; n++) {
      const asked = {
        ...query,
        limit: String(pageSize),
        ...(cursor !== "" && { continue: cursor }),
      };
      const url = `${path}?${new URLSearchParams(asked)}`;
      const answer = await cluster.call({ method: "GET", path: url, signal });
      const { metadata, items: more } = parseAnswer(page, answer);
      items.push(...more);
      cursor = metadata.continue;
      if (cursor === "") return items;
    }
    throw new UnreachableError("unreachable: the API server's list has no end");
  };

  return {
    /** undefined: there is no such workload. */
    async read(place: Place, signal?: AbortSignal): Promise<Workload | undefined> {
      const answer = await cluster.call({ method: "GET", path: pathOf(place), signal });
      return isNotFound(answer) ? undefined : parseAnswer(Workload, answer);
    },

    list: (of: { namespace: string; selector: string; signal?: AbortSignal }) =>
      listAll<Workload>(
        deploymentsOf(of.namespace),
        { labelSelector: of.selector },
        { page: WorkloadPage, signal: of.signal },
      ),

    /** By the template that they are of, without those that are about to end. */
    async pods(workload: Workload, signal?: AbortSignal): Promise<Generations> {
      const {
        metadata,
        spec: { selector },
      } = workload;
      const namespace = encodeURIComponent(metadata.namespace);
      const query = { labelSelector: selectorOf(selector) };
      const [sets, pods] = await Promise.all([
        listAll<ReplicaSet>(`/apis/apps/v1/namespaces/${namespace}/replicasets`, query, {
          page: ReplicaSetPage,
          signal,
        }),
        listAll<Pod>(`/api/v1/namespaces/${namespace}/pods`, query, { page: PodPage, signal }),
      ]);
      const living = pods.filter((pod) => pod.metadata.deletionTimestamp === "");
      return splitPods(workload, sets, living);
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
          kind: "Deployment",
          metadata: { name: place.name, namespace: place.namespace, resourceVersion, annotations },
          spec: { template: { spec: { containers } } },
        },
        signal: call.signal,
        isWanted: call.isWanted,
      });
      if (answer.status < 300) return { kind: "done", workload: parseAnswer(Workload, answer) };
      return refusalOf(answer);
    },
  };
}

export function deploymentsOf(namespace: string): string {
  return `/apis/apps/v1/namespaces/${encodeURIComponent(namespace)}/deployments`;
}

export type Calls = ReturnType<typeof createCalls>;

type PageOf<Item> = { metadata: { continue: string }; items: Item[] };

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

/** As a query has it. */
export function selectorOf({
  matchLabels,
  matchExpressions,
}: Workload["spec"]["selector"]): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const others = matchExpressions.map(({ key, operator, values }) => {
    if (operator === "Exists") return key;
    if (operator === "DoesNotExist") return `!${key}`;
    return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
  });
  return [...equal, ...others].join(",");
}
