/** What of a rendered object an API server would refuse, or drop without a word. */
import { findModelFaults } from "../kubernetes/model-check.ts";
import type { Manifest } from "./helm.ts";
import { findUnknownFields } from "./unknown-fields.ts";

type Fault = { instancePath: string; message?: string; params?: object };

/** Of Kubernetes' own groups: what stands before the version in the name of a schema. */
const own: Record<string, string> = {
  "": "Core",
  apps: "Apps",
  batch: "Batch",
  autoscaling: "Autoscaling",
  policy: "Policy",
  "networking.k8s.io": "Networking",
  "rbac.authorization.k8s.io": "Rbac",
};

/** Of the API versions of others: the module that has their models. */
const others: Record<string, { address: string; load: () => Promise<unknown> }> = {
  "gateway.networking.k8s.io/v1": {
    address: "@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1",
    load: () => import("@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1"),
  },
  "monitoring.coreos.com/v1": {
    address: "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
    load: () => import("@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1"),
  },
};

/** A line for each fault; throws where there is no schema, since an object of no schema is not checked. */
export async function findFaults(object: Manifest): Promise<string[]> {
  const other = others[object.apiVersion];
  const found =
    other === undefined
      ? await findFaultsOfOwn(object)
      : [
          ...(await findFaultsOfOthers(object, other.load)),
          ...(await findUnknownFields(object, other.address)),
        ];
  return [...found, ...findNameFaults(object)];
}

async function findFaultsOfOwn(object: Manifest): Promise<string[]> {
  const [version = "", group = ""] = object.apiVersion.split("/").toReversed();
  const kind = `${capital(version)}${object.kind}`;
  const name = `IoK8sApi${own[group]}${kind}`;
  const { validate } = (await import(`kubernetes-models/_schemas/${name}`)) as {
    validate: ((object: unknown) => boolean) & { errors?: Fault[] | null };
  };
  const faults = validate(object) ? [] : (validate.errors ?? []);
  return [...faults.map(describeFault), ...findModelFaults(object, kind)];
}

async function findFaultsOfOthers(
  object: Manifest,
  load: () => Promise<unknown>,
): Promise<string[]> {
  const models = (await load()) as Record<string, new (data: object) => { validate: () => void }>;
  const Model = models[object.kind];
  if (Model === undefined) throw new Error(`no model of ${object.kind}`);
  try {
    new Model(object).validate();
    return [];
  } catch (error) {
    return (error as { errors?: Fault[] }).errors?.map(describeFault) ?? [String(error)];
  }
}

const describeFault = ({ instancePath, message, params }: Fault) =>
  `${instancePath}: ${message} ${JSON.stringify(params)}`;

const capital = (word: string) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`;

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const labelName = /^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/;
const labelValue = /^([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?$/;

/** Names and labels: what the schemas leave to the API server. */
function findNameFaults({ metadata }: Manifest): string[] {
  const wrong = Object.entries(metadata.labels ?? {}).filter(
    ([name, value]) => !labelName.test(name) || !labelValue.test(value),
  );
  return [
    ...(dnsLabel.test(metadata.name) ? [] : [`/metadata/name: ${metadata.name}`]),
    ...wrong.map(([name, value]) => `/metadata/labels: ${name}: ${value}`),
  ];
}
