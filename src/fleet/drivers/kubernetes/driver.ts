/** A fleet of workloads in a Kubernetes cluster (docs/fleets.md, "Kubernetes"). */
import {
  type ApplyResult,
  boundLabels,
  type Driver,
  type DriverCall,
  type ListedSentinel,
  type LogCall,
  type LogTail,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { createMembers } from "#fleet/drivers/kubernetes/members/members.ts";
import { findRecord } from "#fleet/drivers/kubernetes/members/records.ts";
import {
  livingPod,
  madeImage,
  membersOf,
  type SetReading,
  templateOf,
} from "#fleet/drivers/kubernetes/members/set-reading.ts";
import { isSameContent } from "#kernel/image-reference.ts";
import type { Log } from "#kernel/log.ts";
import { findAccess } from "./access.ts";
import { createCalls, type Place } from "./calls.ts";
import { createCluster, ForbiddenError } from "./client.ts";
import { createFleet, idOf, type Target } from "./fleet.ts";
import { createIdentities } from "./identity.ts";
import { isAvailable, isComplete, isReady } from "./judge.ts";
import { chooseContainer, hasMembers } from "./kinds.ts";
import { createChanges, pollAgain, type StepObservation } from "./poll-again.ts";
import { isOpen, readRecord } from "./record.ts";
import type { Workload, WorkloadKind } from "./schemas.ts";
import { oursIn, templateImage } from "./template-image.ts";
import { createWorkloads, type Order, placeOf, type WorkloadParts } from "./workload.ts";

/** A sentinel is a whole workload or a member of a set: what a list says of either, and the operations that both have. */
function createSentinels(parts: WorkloadParts) {
  const workloads = createWorkloads(parts);
  const members = createMembers(parts);
  return {
    /** All that a workload is. */
    async list(workload: Workload, signal?: AbortSignal): Promise<ListedSentinel[]> {
      if (!hasMembers(workload)) return [toListed(workload, parts)];
      return toListedMembers(await members.readings.ofSet(workload, signal), parts.container);
    },

    apply: ({ place, member }: Target, order: Order, call: DriverCall): Promise<ApplyResult> =>
      member === undefined
        ? workloads.apply(place, order, call)
        : members.apply({ set: place, member }, order, call),

    observe: (
      { place, member }: Target,
      order: Order,
      call: DriverCall,
    ): Promise<StepObservation> =>
      member === undefined
        ? workloads.observe(place, order, call)
        : members.observe({ set: place, member }, order, call),

    /** `deployId`: of what this deploy has started; absent: of what runs. */
    readLog: (
      { place, member }: Target,
      deployId: string | undefined,
      call: LogCall,
    ): Promise<LogTail> =>
      member === undefined
        ? readWorkloadLog(place, { deployId, call }, parts)
        : members.readLog({ set: place, member }, { deployId, call }),

    /** Ends what nobody asks about any more: its process has ended, or its deadline came first. */
    finish: (workload: Workload, signal: AbortSignal): Promise<void> =>
      hasMembers(workload)
        ? members.finish(placeOf(workload), signal)
        : workloads.finish(workload, signal),
  };
}

/** `deployId`: of what this deploy has started; absent: of what runs. */
async function readWorkloadLog(
  place: Place,
  { deployId, call }: { deployId: string | undefined; call: LogCall },
  { calls, container }: Pick<WorkloadParts, "calls" | "container">,
): Promise<LogTail> {
  const workload = await calls.read(place, call.signal);
  if (workload === undefined) return { absent: "there is no such workload" };
  const record = readRecord(workload);
  if (deployId !== undefined && (record?.id !== deployId || record.failed !== undefined)) {
    return { absent: "its pods have been removed" };
  }
  const { present, earlier } = await calls.pods(workload, call.signal);
  const name = chooseContainer(workload, container) ?? record?.container ?? "";
  if (deployId !== undefined) return calls.log(present, name, call);
  const all = [...present, ...earlier];
  const serving = all.filter(isReady);
  return calls.log(serving.length > 0 ? serving : all, name, call);
}

const regionLabel = "topology.kubernetes.io/region";

function toListed(workload: Workload, parts: ListParts): ListedSentinel {
  const record = readRecord(workload);
  const container = chooseContainer(workload, parts.container) ?? "";
  const image = templateImage(workload, container, { ...parts, ours: oursIn(record) });
  const isUnderWay = isOpen(record) && isSameContent(image, record.image) && !isComplete(workload);
  return {
    ...aboutOf(workload),
    image,
    running_image: isUnderWay ? record.previous : image,
    healthy: isAvailable(workload),
  };
}

/** `container`: as the setting names it; empty: the workload says which. */
type ListParts = Pick<WorkloadParts, "container" | "fieldManager">;

/** Each with what its own pod runs: the template is the same for all. */
function toListedMembers(reading: SetReading, container: string): ListedSentinel[] {
  const about = aboutOf(reading.set);
  const ofSet = chooseContainer(reading.set, container) ?? "";
  const kind = reading.set.resource === "daemonsets" ? "node" : "ordinal";
  return membersOf(reading).map((member) => {
    const record = findRecord(reading.records, member);
    const open = record?.ended === true ? undefined : record;
    const running = madeImage(reading, member, open?.container ?? ofSet);
    const isOrdered = open !== undefined && open.failed === undefined;
    const image = isOrdered ? open.image : running || templateOf(reading, ofSet);
    const pod = livingPod(reading, member);
    return {
      ...about,
      id: `${about.id}/${member}`,
      image,
      running_image: running || open?.previous || image,
      healthy: pod !== undefined && isReady(pod),
      labels: boundLabels({ ...about.labels, [kind]: member }),
    };
  });
}

function aboutOf({ metadata: { namespace, name, labels } }: Workload) {
  return {
    id: `${namespace}/${name}`,
    region: labels[regionLabel] ?? labels["vedette.region"] ?? namespace,
    labels: boundLabels({ ...labels, namespace }),
  };
}

export type KubernetesSettings = {
  /** The context of the kubeconfig; empty: the current one, or the pod's own service account. */
  context: string;
  /** Empty: that of the context. */
  namespaces: readonly string[];
  /** The kinds of workloads; empty: Deployments. */
  kinds: readonly WorkloadKind[];
  /** A label selector, as kubectl has it. */
  selector: string;
  container: string;
  fieldManager: string;
  isForced: boolean;
  readyTimeoutMs: number;
  /** The time for which new pods have to be ready, unless the workload has minReadySeconds. */
  stableMs: number;
  /** The time for which an image with a digest may be missing at its registry. */
  imageWaitMs: number;
  environment: NodeJS.ProcessEnv;
  log: Log;
};

export function createKubernetesDriver(settings: KubernetesSettings): Driver {
  const access = findAccess(settings.context, settings.environment);
  const cluster = createCluster(access, createIdentities(access));
  const calls = createCalls(cluster, settings.fieldManager);
  const changes = createChanges(cluster, settings.selector);
  const namespaces =
    settings.namespaces.length > 0 ? [...new Set(settings.namespaces)] : [cluster.namespace];
  const kinds = settings.kinds.length > 0 ? [...new Set(settings.kinds)] : onlyDeployments;
  const { selector, log } = settings;
  const fleet = createFleet(calls, { namespaces, kinds, selector }, log);
  const { nowMs, orderedAtMs } = cluster;
  const sentinels = createSentinels({ ...settings, calls, nowMs, orderedAtMs });
  const stopped = new AbortController();
  let isFinishing = false;

  const finish = async (listed: readonly Workload[]): Promise<void> => {
    if (isFinishing) return;
    isFinishing = true;
    for (const workload of listed) {
      if (stopped.signal.aborted) break;
      await sentinels.finish(workload, stopped.signal).catch(({ message: reason }: Error) => {
        if (stopped.signal.aborted) return;
        log.warn({ sentinel: idOf(workload), reason }, "deploy not brought to its end");
      });
    }
    isFinishing = false;
  };

  const list = async (signal: AbortSignal | undefined): Promise<ListedSentinel[]> => {
    const listed = await fleet.list(signal);
    void finish(listed);
    return (await Promise.all(listed.map((one) => sentinels.list(one, signal)))).flat();
  };

  return {
    // A list that is refused says nothing about the sentinels: they are all still there.
    list: (signal) => orUnreachable(() => list(signal)),
    apply: async (order, call = {}) => {
      try {
        const target = await fleet.find(order.sentinelId, call.signal);
        return target === undefined
          ? { failure: unknown }
          : await sentinels.apply(target, order, call);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        return { failure: error.message, isOfApi: true };
      }
    },
    // It may be allowed again, and until then nothing is known of the order.
    observe: (order, call = {}) =>
      orUnreachable(async () => {
        const target = await fleet.find(order.sentinelId, call.signal);
        if (target === undefined) return { status: "failed", reason: unknown };
        const poll = () => sentinels.observe(target, order, call);
        return pollAgain(target.place, { changes, signal: call.signal, poll });
      }),
    readLog: async ({ sentinelId, deployId }, call) => {
      try {
        const target = await fleet.find(sentinelId, call.signal);
        return target === undefined
          ? { absent: unknown }
          : await sentinels.readLog(target, deployId, call);
      } catch (error) {
        if (!(error instanceof ForbiddenError)) throw error;
        return { absent: error.message };
      }
    },
    // The list goes on with what was under way.
    start: async () => {},
    stop: async () => {
      stopped.abort();
      changes.stop();
      await cluster.stop();
    },
  };
}

const onlyDeployments: readonly WorkloadKind[] = ["deployments"];

const unknown = "target_gone: no workload of fleet.kubernetes.namespaces and kinds has this name";

async function orUnreachable<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    throw error instanceof ForbiddenError ? new UnreachableError(error.message) : error;
  }
}
