/** A set as the driver sees it at one moment: with one pod for each member, of an image's revision. */

import { type MemberRecord, writeRecords } from "#fleet/drivers/kubernetes/members/records.ts";
import { buildSetReading, type SetReading } from "#fleet/drivers/kubernetes/members/set-reading.ts";
import { Pod, Revision, Workload } from "#fleet/drivers/kubernetes/schemas.ts";

type PodState = {
  tag: string;
  isReady?: boolean;
  isEnding?: boolean;
  /** Of its container. */
  state?: object;
};

export type SetState = {
  template: string;
  pods: Record<string, PodState | undefined>;
  records?: Record<string, Partial<MemberRecord>>;
  isDaemonSet?: boolean;
  isParallel?: boolean;
  /** Whether its controller has not seen the last change. */
  isUnseen?: boolean;
};

const containersOf = (tag: string) => [{ name: "gateway", image: tag }];

function metadataOf(name: string, more: object = {}) {
  const ownerReferences = [{ uid: "u1", controller: true }];
  return { name, namespace: "edge", uid: name, resourceVersion: "1", ownerReferences, ...more };
}

/** Pods are made of revisions; a policy has rewritten their images. */
export function buildSetLook(of: SetState): SetReading {
  const pods = Object.entries(of.pods).flatMap(([member, state]) =>
    state === undefined ? [] : [buildPod(member, state, of.isDaemonSet === true)],
  );
  const tags = [...new Set(Object.values(of.pods).flatMap((state) => state?.tag ?? []))];
  const revisions = tags.map((tag) =>
    Revision.parse({
      metadata: metadataOf(`gw-${tag}`),
      revision: 1,
      data: { spec: { template: { spec: { containers: containersOf(tag) } } } },
    }),
  );
  return buildSetReading(buildSet(of), { pods, revisions });
}

function buildPod(
  member: string,
  { tag, isReady = true, isEnding, state }: PodState,
  isOfNode: boolean,
) {
  const ready = {
    type: "Ready",
    status: isReady ? "True" : "False",
    lastTransitionTime: "1970-01-01T00:00:10Z",
  };
  return Pod.parse({
    metadata: metadataOf(isOfNode ? `gw-x${member}` : `gw-${member}`, {
      labels: { "controller-revision-hash": `gw-${tag}` },
      ...(isEnding && { deletionTimestamp: "1970-01-01T00:00:20Z" }),
    }),
    spec: {
      ...(isOfNode && { nodeName: member }),
      containers: containersOf(`mirror.example.com/${tag}`),
    },
    status: {
      conditions: [ready],
      containerStatuses: [{ name: "gateway", ready: isReady, restartCount: 0, ...state }],
    },
  });
}

function buildSet({
  template,
  pods,
  records,
  isDaemonSet,
  isParallel,
  isUnseen,
}: SetState): Workload {
  const members = Object.entries(records ?? {}).map(([member, record]) => [
    member,
    { id: "d1", image: "v2", previous: "v1", container: "gateway", atMs: 0, ...record },
  ]);
  const kept = { uid: "u1", containers: ["gateway"], manager: "vedette" };
  const annotations = writeRecords({ ...kept, members: Object.fromEntries(members) });
  return Workload.parse({
    resource: isDaemonSet ? "daemonsets" : "statefulsets",
    metadata: { ...metadataOf("gw"), uid: "u1", generation: isUnseen ? 3 : 2, annotations },
    spec: {
      replicas: Object.keys(pods).length,
      selector: {},
      updateStrategy: { type: "OnDelete" },
      ...(isParallel && { podManagementPolicy: "Parallel" }),
      template: { spec: { containers: containersOf(template) } },
    },
    status: { observedGeneration: 2 },
  });
}
