/** The calls on resources: get, list, watch, patch, create, delete. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { applyFields, type FieldConflict, mergePatch, noteUpdate } from "./managed-fields.ts";
import type { KubeObject, Objects } from "./objects.ts";
import { findSchemaFaults } from "./schema-check.ts";

export type Asked = {
  method: string;
  path: string;
  query: URLSearchParams;
  /** As RBAC has it: get, list, watch, patch, create, delete. */
  verb: string;
  resource: string;
  namespace: string;
  name: string;
  token: string;
  contentType: string;
  body: string;
};

const apiVersions: Record<string, string> = { deployments: "apps/v1", pods: "v1" };
const kinds: Record<string, string> = { deployments: "Deployment", pods: "Pod" };

export async function toAsked(incoming: IncomingMessage): Promise<Asked> {
  const url = new URL(incoming.url ?? "/", "http://localhost");
  const match =
    /^\/(?:api\/v1|apis\/apps\/v1)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?$/.exec(
      url.pathname,
    );
  const [, namespace = "", resource = "", name = ""] = (match ?? []).map(
    (part) => part && decodeURIComponent(part),
  );
  const { method = "GET", headers } = incoming;
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    verb: verbOf(method, { name, query: url.searchParams }),
    resource,
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

type Parts = {
  objects: Objects;
  /** Gets a line for each thing that is not as Kubernetes' schemas say. */
  faults: string[];
};

/** Every call but a watch. */
export function answerOf(asked: Asked, parts: Parts): Answer {
  const { objects } = parts;
  if (apiVersions[asked.resource] === undefined) {
    return refusal(404, "NotFound", "the server could not find the requested resource");
  }
  if (asked.verb === "list") return list(asked, objects);
  if (asked.verb === "create") return create(asked, parts);
  const found = objects.get(asked);
  if (asked.verb === "patch") return patch(asked, found, parts);
  if (found === undefined) return refusal(404, "NotFound", notFound(asked));
  if (asked.verb === "delete") objects.remove(asked);
  return { status: 200, body: found };
}

const notFound = ({ resource, name }: Asked) => `${resource} "${name}" not found`;

function matches({ metadata }: KubeObject, { query }: Asked): boolean {
  const fields = query.get("fieldSelector") ?? "";
  if (fields !== "" && fields !== `metadata.name=${metadata.name}`) return false;
  const terms = (query.get("labelSelector") ?? "").match(/[^,(]+(\([^)]*\))?/g) ?? [];
  return terms.every((term) => matchesTerm(metadata.labels ?? {}, term.trim()));
}

function matchesTerm(labels: Record<string, string>, term: string): boolean {
  const [, set, operator, values = ""] = /^(\S+) (in|notin) \((.*)\)$/.exec(term) ?? [];
  if (set !== undefined) {
    const isIn = values.split(",").includes(labels[set] ?? "");
    return operator === "in" ? isIn : !isIn;
  }
  if (term.startsWith("!")) return labels[term.slice(1)] === undefined;
  const [key = "", value] = term.split(/==?/);
  return value === undefined ? labels[key] !== undefined : labels[key] === value;
}

function list(asked: Asked, objects: Objects): Answer {
  const all = objects.list(asked.resource, asked.namespace).filter((one) => matches(one, asked));
  const from = Number(asked.query.get("continue") ?? 0);
  const limit = Number(asked.query.get("limit") ?? 0) || all.length;
  const isMore = all.length > from + limit;
  const body = {
    apiVersion: apiVersions[asked.resource],
    kind: `${kinds[asked.resource]}List`,
    metadata: {
      resourceVersion: objects.version(),
      ...(isMore && { continue: String(from + limit) }),
    },
    // As in Kubernetes, entries of a list don't say what they are.
    items: all.slice(from, from + limit).map(({ apiVersion, kind, ...rest }) => rest),
  };
  return { status: 200, body };
}

/** Until its time has passed, the client leaves or the server closes. */
export function watch(asked: Asked, objects: Objects, outgoing: ServerResponse): void {
  outgoing.writeHead(200, { "content-type": "application/json" });
  outgoing.flushHeaders();
  const send = (type: string, object: object) => {
    outgoing.write(`${JSON.stringify({ type, object })}\n`);
  };
  const isInitial = asked.query.get("sendInitialEvents") === "true";
  if (isInitial) {
    for (const one of objects.list(asked.resource, asked.namespace)) {
      if (matches(one, asked)) send("ADDED", one);
    }
    // kubectl waits for it.
    send("BOOKMARK", {
      apiVersion: apiVersions[asked.resource],
      kind: kinds[asked.resource],
      metadata: {
        resourceVersion: objects.version(),
        annotations: { "k8s.io/initial-events-end": "true" },
      },
    });
  }
  const after = isInitial ? objects.version() : (asked.query.get("resourceVersion") ?? "");
  const stop = objects.watch(Number(after) || Number(objects.version()), (event) => {
    const isHere = event.object.metadata.namespace === asked.namespace;
    if (event.resource !== asked.resource || !isHere || !matches(event.object, asked)) return;
    send(event.type, event.object);
  });
  const seconds = Number(asked.query.get("timeoutSeconds") ?? 300);
  const timer = setTimeout(() => outgoing.end(), seconds * 1_000);
  outgoing.on("close", () => {
    clearTimeout(timer);
    stop();
  });
}

function create(asked: Asked, { objects, faults }: Parts): Answer {
  const object = JSON.parse(asked.body) as KubeObject;
  const made = newObject(object, asked.namespace, { manager: managerOf(asked) });
  const refused = findRefusal(asked, made, faults);
  return refused ?? { status: 201, body: objects.put(asked.resource, made) };
}

/** What an API server adds to what a client has written. */
export function newObject(
  object: KubeObject,
  namespace: string,
  { manager, operation = "Update" }: { manager: string; operation?: "Apply" | "Update" },
): KubeObject {
  const made: KubeObject = {
    ...object,
    metadata: {
      ...object.metadata,
      namespace,
      uid: randomUUID(),
      resourceVersion: "",
      generation: 1,
      creationTimestamp: new Date().toISOString().replace(/\.\d+/, ""),
    },
  };
  noteUpdate(undefined, made, manager);
  for (const fields of made.metadata.managedFields ?? []) fields.operation = operation;
  return made;
}

function managerOf({ query }: Asked): string {
  return query.get("fieldManager") ?? "unknown";
}

function patch(asked: Asked, live: KubeObject | undefined, parts: Parts): Answer {
  const isApply = asked.contentType.startsWith("application/apply-patch+yaml");
  if (isApply && !asked.query.get("fieldManager")) {
    const cause = { field: "fieldManager", message: "is required for apply patch" };
    return refusal(422, "Invalid", "PatchOptions.meta.k8s.io is invalid", [cause]);
  }
  // It would be created, of which it lacks too much.
  if (live === undefined && isApply) {
    const cause = {
      reason: "FieldValueRequired",
      message: "Required value",
      field: "spec.selector",
    };
    return refusal(422, "Invalid", `${notFound(asked)}: spec.selector: Required value`, [cause]);
  }
  if (live === undefined) return refusal(404, "NotFound", notFound(asked));
  const body = JSON.parse(asked.body) as KubeObject;
  if (isStale(body, live)) {
    const words = `Operation cannot be fulfilled on ${asked.resource} "${asked.name}": the object has been modified`;
    return refusal(409, "Conflict", words);
  }
  const changed = isApply ? applied(live, body, asked) : merged(live, body, asked);
  if ("conflicts" in changed) return conflictOf(changed.conflicts);
  return store(asked, live, { object: changed.object, parts });
}

function isStale({ metadata }: KubeObject, live: KubeObject): boolean {
  const wanted = metadata?.resourceVersion;
  return wanted !== undefined && wanted !== live.metadata.resourceVersion;
}

type Changed = { object: KubeObject } | { conflicts: FieldConflict[] };

function applied(live: KubeObject, body: KubeObject, asked: Asked): Changed {
  const object = structuredClone(live);
  const isForced = asked.query.get("force") === "true";
  const conflicts = applyFields(object, body, { manager: managerOf(asked), isForced });
  return conflicts.length > 0 && !isForced ? { conflicts } : { object };
}

function merged(live: KubeObject, body: KubeObject, asked: Asked): Changed {
  const isByName = asked.contentType.startsWith("application/strategic-merge-patch+json");
  const object = mergePatch(live, body, isByName) as KubeObject;
  object.metadata.managedFields = live.metadata.managedFields ?? [];
  noteUpdate(live, object, managerOf(asked));
  return { object };
}

function conflictOf(conflicts: readonly FieldConflict[]): Answer {
  const causes = conflicts.map(({ manager, field }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with "${manager}" using apps/v1`,
    field,
  }));
  const words = `Apply failed with ${causes.length} conflict(s): ${causes[0]?.message}: ${causes[0]?.field}`;
  return refusal(409, "Conflict", words, causes);
}

function store(
  asked: Asked,
  live: KubeObject,
  { object, parts }: { object: KubeObject; parts: Parts },
): Answer {
  const refused = findRefusal(asked, object, parts.faults);
  if (refused !== undefined) return refused;
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const isNewSpec = !isSame(live.spec, object.spec);
  const generation = (live.metadata.generation ?? 1) + (isNewSpec ? 1 : 0);
  const next = { ...object, metadata: { ...object.metadata, generation } };
  const body = isSame(next, live) ? live : parts.objects.put(asked.resource, next);
  return { status: 200, body };
}

function findRefusal(asked: Asked, object: KubeObject, faults: string[]): Answer | undefined {
  const found = findSchemaFaults(asked.resource, object);
  if (found.length === 0) return undefined;
  faults.push(...found.map((fault) => `${asked.method} ${asked.path}: ${fault}`));
  return refusal(422, "Invalid", found.join("; "));
}
