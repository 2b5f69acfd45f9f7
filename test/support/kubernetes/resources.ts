/** The calls on resources: get, list, watch, create, delete; `patch.ts` has the patches. */
import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import {
  type Answer,
  type Asked,
  apiVersions,
  findRefusal,
  keep,
  kinds,
  managerOf,
  notFound,
  type Parts,
  refusal,
} from "./asked.ts";
import { evict, remove } from "./deletion.ts";
import { noteUpdate } from "./managed-fields.ts";
import type { KubeObject, Objects } from "./objects.ts";
import { patch } from "./patch.ts";

/** Every call but a watch. */
export function answerOf(asked: Asked, parts: Parts): Answer {
  const { objects } = parts;
  if (apiVersions[asked.resource] === undefined) {
    return refusal(404, "NotFound", "the server could not find the requested resource");
  }
  if (asked.resource === "pods/eviction") return evict(asked, parts);
  if (asked.verb === "list") return list(asked, objects);
  if (asked.verb === "create") return create(asked, parts);
  const found = objects.get(asked);
  if (asked.verb === "patch") return patch(asked, found, parts);
  if (found === undefined) return notFound(asked);
  return asked.verb === "delete" ? remove(asked, found, objects) : { status: 200, body: found };
}

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
  const isWanted = (one: KubeObject) => matches(one, asked);
  const all = objects.list(asked.resource, asked.namespace, isWanted);
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
    const isHere = ["", event.object.metadata.namespace].includes(asked.namespace);
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
  return refused ?? { status: 201, body: keep(asked, made, objects) };
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
