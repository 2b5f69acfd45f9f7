/** Reads what a rendered Deployment or Job tells a kubelet. */
import type { Manifest } from "./helm.ts";

type Port = { name: string; containerPort: number };
type Variable = { name: string; value: string };
export type Mount = { name: string; mountPath: string; readOnly?: boolean };
type Probe = { httpGet: { path: string; port: string } };

export type Container = {
  image: string;
  args: string[];
  env?: Variable[];
  ports?: Port[];
  volumeMounts: Mount[];
  startupProbe: Probe;
  livenessProbe: Probe;
  readinessProbe: Probe;
  securityContext?: object;
};

export type Volume = {
  name: string;
  configMap?: { name: string };
  secret?: { secretName: string; items?: Item[] };
  projected?: { defaultMode: number; sources: { secret: { name: string; items: Item[] } }[] };
  emptyDir?: object;
  ephemeral?: object;
};
type Item = { key: string; path: string };

export type Pod = {
  labels: Record<string, string>;
  container: Container;
  volumes: Volume[];
  serviceAccountName?: string;
  automountServiceAccountToken: boolean;
  securityContext: { runAsUser?: number; fsGroup?: number };
};

export function podOf(workload: Manifest): Pod {
  const { metadata, spec } = workload["spec"].template;
  return { ...spec, labels: metadata.labels, container: spec.containers[0] };
}

/** The number of a port that is given by its name or number; undefined: the container has none such. */
export function portOf({ ports = [] }: Container, wanted: string | number): number | undefined {
  return ports.find(({ name, containerPort }) => name === wanted || containerPort === wanted)
    ?.containerPort;
}

export const isSelected = (selector: Record<string, string>, labels: Record<string, string>) =>
  Object.entries(selector).every(([name, value]) => labels[name] === value);
