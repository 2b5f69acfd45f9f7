/** The answers of an API server, as far as they are read (https://kubernetes.io/docs/reference/kubernetes-api/). */
import { z } from "zod";
import { listOf, many, Texts } from "#kernel/setting.ts";

/** More than one page has. */
const maxItems = 1_000;
/** More than any list in an object has. */
const mostParts = 10_000;

/** The kinds of workloads that may be sentinels, as paths of the API name them. */
const workloadKinds = ["deployments", "statefulsets", "daemonsets"] as const;
export type WorkloadKind = (typeof workloadKinds)[number];

const text = () =>
  z
    .string()
    .nullish()
    .transform((value) => value ?? "");

/** Absent where it is 0. */
const count = () =>
  z
    .number()
    .nullish()
    .transform((value) => value ?? 0);

const Metadata = z.object({
  name: z.string().min(1),
  namespace: z.string().min(1),
  uid: z.string().min(1),
  resourceVersion: z.string().min(1),
  generation: count(),
  labels: Texts,
  annotations: Texts,
  creationTimestamp: text(),
  deletionTimestamp: text(),
  ownerReferences: many(z.object({ uid: z.string(), controller: z.boolean().nullish() })),
  managedFields: many(
    z.object({ manager: text(), operation: text(), fieldsV1: z.unknown().optional() }),
  ),
});

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: text(),
  message: text(),
  lastUpdateTime: text(),
  lastTransitionTime: text(),
});
export type Condition = z.infer<typeof Condition>;

const Requirement = z.object({ key: z.string(), operator: z.string(), values: many(z.string()) });

const Container = z.object({ name: z.string(), image: text() });
const Containers = listOf(Container, mostParts);

export const Workload = z.object({
  /** The requested kind: entries of a list do not have it. */
  resource: z.enum(workloadKinds).default("deployments"),
  metadata: Metadata,
  spec: z.object({
    replicas: z.number().nullish(),
    paused: z.boolean().nullish(),
    minReadySeconds: count(),
    selector: z.object({ matchLabels: Texts, matchExpressions: many(Requirement) }),
    template: z.object({
      metadata: z.object({ annotations: Texts }).nullish(),
      spec: z.object({ containers: Containers }),
    }),
    /** Sets have this. */
    updateStrategy: z
      .object({ type: text(), rollingUpdate: z.object({ partition: count() }).nullish() })
      .nullish(),
    /** StatefulSets have this and the next one. */
    podManagementPolicy: text(),
    ordinals: z.object({ start: count() }).nullish(),
  }),
  status: z.preprocess(
    (status) => status ?? {},
    z.object({
      observedGeneration: count(),
      replicas: count(),
      updatedReplicas: count(),
      availableReplicas: count(),
      /** StatefulSets have this and the next two. */
      readyReplicas: count(),
      currentRevision: text(),
      updateRevision: text(),
      /** DaemonSets have this and the next three. */
      desiredNumberScheduled: count(),
      currentNumberScheduled: count(),
      updatedNumberScheduled: count(),
      numberAvailable: count(),
      conditions: many(Condition),
    }),
  ),
});
export type Workload = z.infer<typeof Workload>;

const Terminated = z.object({
  reason: text(),
  message: text(),
  exitCode: count(),
  startedAt: text(),
  finishedAt: text(),
});

const ContainerStatus = z.object({
  name: z.string(),
  ready: z.boolean().nullish(),
  restartCount: count(),
  state: z
    .object({
      waiting: z.object({ reason: text(), message: text() }).nullish(),
      running: z.object({}).nullish(),
      terminated: Terminated.nullish(),
    })
    .nullish(),
  lastState: z.object({ terminated: Terminated.nullish() }).nullish(),
});
export type ContainerStatus = z.infer<typeof ContainerStatus>;

export const ReplicaSet = z.object({ metadata: Metadata });
export type ReplicaSet = z.infer<typeof ReplicaSet>;

/** The revision that a set stores of a template. */
export const Revision = z.object({
  metadata: Metadata,
  revision: count(),
  data: z
    .object({
      spec: z.object({ template: z.object({ spec: z.object({ containers: Containers }) }) }),
    })
    .nullish()
    .catch(null),
});
export type Revision = z.infer<typeof Revision>;

export type Owned = { metadata: Pick<z.infer<typeof Metadata>, "ownerReferences"> };

/** A DaemonSet's pod that has no node yet names it by its affinity. */
const NodeAffinity = z.object({
  nodeAffinity: z.object({
    requiredDuringSchedulingIgnoredDuringExecution: z.object({
      nodeSelectorTerms: many(
        z.object({ matchFields: many(z.object({ key: text(), values: many(z.string()) })) }),
      ),
    }),
  }),
});

export const Pod = z.object({
  metadata: Metadata,
  spec: z.object({
    nodeName: text(),
    affinity: NodeAffinity.nullish().catch(null),
    initContainers: many(Container),
    containers: Containers,
  }),
  status: z.preprocess(
    (status) => status ?? {},
    z.object({
      phase: text(),
      conditions: many(Condition),
      initContainerStatuses: many(ContainerStatus),
      containerStatuses: many(ContainerStatus),
    }),
  ),
});
export type Pod = z.infer<typeof Pod>;

const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ metadata: z.object({ continue: text() }), items: listOf(item, maxItems) });

export const WorkloadPage = pageOf(Workload);
export const ReplicaSetPage = pageOf(ReplicaSet);
export const RevisionPage = pageOf(Revision);
export const PodPage = pageOf(Pod);

export const StatusBody = z.object({
  message: text(),
  reason: text(),
  details: z
    .object({ causes: many(z.object({ reason: text(), message: text(), field: text() })) })
    .nullish(),
});
