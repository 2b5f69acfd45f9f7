/** Changes of an object: server-side apply, and patches by merging. */
import {
  type Answer,
  type Asked,
  findRefusal,
  keep,
  managerOf,
  notFound,
  type Parts,
  refusal,
} from "./asked.ts";
import { applyFields, type FieldConflict, mergePatch, noteUpdate } from "./managed-fields.ts";
import type { KubeObject } from "./objects.ts";

const applyType = "application/apply-patch+yaml";
const byNameType = "application/strategic-merge-patch+json";
/** Kubernetes knows JSON Patch too, which this one does not. */
const mergeTypes = ["application/merge-patch+json", byNameType];

export function patch(asked: Asked, live: KubeObject | undefined, parts: Parts): Answer {
  const isApply = asked.contentType === applyType;
  if (!isApply && !mergeTypes.includes(asked.contentType)) {
    const known = [...mergeTypes, applyType].join(", ");
    const words = `the body of the request was in an unknown format - accepted media types include: ${known}`;
    return refusal(415, "UnsupportedMediaType", words);
  }
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
    return refusal(
      422,
      "Invalid",
      `${asked.resource} "${asked.name}" is invalid: spec.selector: Required value`,
      [cause],
    );
  }
  if (live === undefined) return notFound(asked);
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
  const isByName = asked.contentType === byNameType;
  const object = mergePatch(live, body, isByName) as KubeObject;
  object.metadata.managedFields = live.metadata.managedFields ?? [];
  noteUpdate(live, object, managerOf(asked));
  return { object };
}

function conflictOf(conflicts: readonly FieldConflict[]): Answer {
  const causes = conflicts.map(({ owner, field }) => ({
    reason: "FieldManagerConflict",
    message: `conflict with ${owner}`,
    field,
  }));
  return refusal(409, "Conflict", wordsOfConflicts(conflicts), causes);
}

/** As Kubernetes words them: by owner when there are several. */
function wordsOfConflicts(conflicts: readonly FieldConflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${first?.owner}: ${first?.field}`;
  }
  const byOwner = [...Map.groupBy(conflicts, ({ owner }) => owner)];
  const lines = byOwner.flatMap(([owner, ofOwner]) => [
    `conflicts with ${owner}:`,
    ...ofOwner.map(({ field }) => `- ${field}`),
  ]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join("\n")}`;
}

function store(
  asked: Asked,
  live: KubeObject,
  { object, parts }: { object: KubeObject; parts: Parts },
): Answer {
  // Whoever manages a field does so whatever an admission webhook makes of it.
  for (const container of object.spec?.template?.spec?.containers ?? []) {
    container.image = parts.admit(container.image, "workload");
  }
  const refused = findRefusal(asked, object, parts.faults);
  if (refused !== undefined) return refused;
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  const isNewSpec = !isSame(live.spec, object.spec);
  const generation = (live.metadata.generation ?? 1) + (isNewSpec ? 1 : 0);
  const next = { ...object, metadata: { ...object.metadata, generation } };
  const body = isSame(next, live) ? live : keep(asked, next, parts.objects);
  return { status: 200, body };
}
