/** What clients ask before they ask for anything: which versions and resources there are. */
import type { Answer, Asked } from "./asked.ts";

const verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];

function resource(name: string, kind: string, shortNames: string[]) {
  return { name, singularName: kind.toLowerCase(), namespaced: true, kind, verbs, shortNames };
}

const version = { groupVersion: "apps/v1", version: "v1" };

/** The least that kubectl looks for before it applies: that a PATCH knows `fieldValidation`. */
const patchOf = (kind: string) => ({
  patch: {
    parameters: [{ name: "fieldValidation", in: "query", schema: { type: "string" } }],
    "x-kubernetes-group-version-kind": { group: "apps", kind, version: "v1" },
  },
});

const openApi = {
  openapi: "3.0.0",
  info: { title: "Kubernetes", version: "v1.36.0" },
  paths: {
    "/apis/apps/v1/namespaces/{namespace}/deployments/{name}": patchOf("Deployment"),
    "/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}": patchOf("StatefulSet"),
  },
};

const answers: Record<string, object> = {
  "/version": { major: "1", minor: "36", gitVersion: "v1.36.0", platform: "linux/amd64" },
  "/api": { kind: "APIVersions", versions: ["v1"] },
  "/apis": {
    kind: "APIGroupList",
    apiVersion: "v1",
    groups: [{ name: "apps", versions: [version], preferredVersion: version }],
  },
  "/api/v1": {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [resource("pods", "Pod", ["po"])],
  },
  "/apis/apps/v1": {
    kind: "APIResourceList",
    groupVersion: "apps/v1",
    resources: [
      resource("deployments", "Deployment", ["deploy"]),
      resource("statefulsets", "StatefulSet", ["sts"]),
      resource("daemonsets", "DaemonSet", ["ds"]),
      resource("replicasets", "ReplicaSet", ["rs"]),
      resource("controllerrevisions", "ControllerRevision", []),
    ],
  },
  "/openapi/v3": {
    paths: { "apis/apps/v1": { serverRelativeURL: "/openapi/v3/apis/apps/v1" } },
  },
  "/openapi/v3/apis/apps/v1": openApi,
};

export function answerOfDiscovery({ path }: Asked): Answer | undefined {
  const body = answers[path] ?? namespaceAt(path);
  return body && { status: 200, body };
}

/** Every namespace exists: kubectl looks for it when something is not found in it. */
function namespaceAt(path: string): object | undefined {
  const [, name] = /^\/api\/v1\/namespaces\/([^/]+)$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}
