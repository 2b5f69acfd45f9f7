/** What is asked of an API server, and how it refuses. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { Admit } from "./deployment-controller.ts";
import type { KubeObject, Objects } from "./objects.ts";
import { findSchemaFaults } from "./schema-check.ts";

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  /** As RBAC has it: get, list, watch, patch, create, delete. */
  verb: string;
  /** With its subresource, if there is one: `pods/eviction`, `pods/log`. */
  resource: string;
  namespace: string;
  name: string;
  token: string;
  contentType: string;
  body: string;
};

export const apiVersions: Record<string, string> = {
  deployments: "apps/v1",
  statefulsets: "apps/v1",
  daemonsets: "apps/v1",
  replicasets: "apps/v1",
  controllerrevisions: "apps/v1",
  pods: "v1",
  "pods/eviction": "policy/v1",
};
export const kinds: Record<string, string> = {
  deployments: "Deployment",
  statefulsets: "StatefulSet",
  daemonsets: "DaemonSet",
  replicasets: "ReplicaSet",
  controllerrevisions: "ControllerRevision",
  pods: "Pod",
};

export async function toAsked(incoming: IncomingMessage): Promise<Asked> {
  const url = new URL(incoming.url ?? "/", "http://localhost");
  const match =
    /^\/(?:api\/v1|apis\/apps\/v1)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(\/eviction|\/log)?$/.exec(
      url.pathname,
    );
  const [, namespace = "", resource = "", name = "", part = ""] = (match ?? []).map(
    (part) => part && decodeURIComponent(part),
  );
  const { method = "GET", headers } = incoming;
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    verb: verbOf(method, { name, query: url.searchParams }),
    resource: `${resource}${part}`,
    namespace,
    name,
    token: (headers.authorization ?? "").replace(/^Bearer /, ""),
    contentType: headers["content-type"] ?? "",
    body: await text(incoming),
  };
}

function verbOf(method: string, { name, query }: { name: string; query: URLSearchParams }): string {
  if (method === "GET" && query.get("watch")) return "watch";
  if (method === "GET") return name === "" ? "list" : "get";
  return { PATCH: "patch", POST: "create", DELETE: "delete", PUT: "update" }[method] ?? "none";
}

export type Answer = { status: number; body: unknown };

type Cause = { reason?: string; message: string; field?: string };

export function refusal(
  code: number,
  reason: string,
  message: string,
  causes: Cause[] = [],
): Answer {
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", code, reason, message };
  return { status: code, body: { ...body, details: { causes } } };
}

export type Parts = {
  objects: Objects;
  /** Gets a line for each thing that is not as Kubernetes' schemas say. */
  faults: string[];
  admit: Admit;
};

export function notFound({ resource, name }: Asked): Answer {
  const qualified = apiVersions[resource] === "apps/v1" ? `${resource}.apps` : resource;
  return refusal(404, "NotFound", `${qualified} "${name}" not found`);
}

export function managerOf({ query }: Asked): string {
  return query.get("fieldManager") ?? "unknown";
}

/** Keeps an object, and answers it as it is kept. A dry run answers it and changes nothing. */
export function keep(asked: Asked, object: KubeObject, objects: Objects): KubeObject {
  return isDryRun(asked) ? object : objects.put(asked.resource, object);
}

export function isDryRun({ query }: Asked): boolean {
  return query.get("dryRun") === "All";
}

export function findRefusal(
  asked: Asked,
  object: KubeObject,
  faults: string[],
): Answer | undefined {
  const found = findSchemaFaults(asked.resource, object);
  if (found.length === 0) return undefined;
  faults.push(...found.map((fault) => `${asked.method} ${asked.path}: ${fault}`));
  return refusal(422, "Invalid", found.join("; "));
}
