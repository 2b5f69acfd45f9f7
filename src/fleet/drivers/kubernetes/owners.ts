/** Who has set a container's image, by the API server's own record of its fields. Pure. */
import { cleanText } from "#kernel/clean-text.ts";
import type { Workload } from "./schemas.ts";

/** `isApplied`: by server-side apply, again and again; otherwise it was written once. */
export type ImageOwner = { manager: string; isApplied: boolean };

/** All but `ourselves`: the field managers that we are, or were. */
export function ownersOfImage(
  { metadata }: Pick<Workload, "metadata">,
  container: string,
  ourselves: readonly string[],
): ImageOwner[] {
  const path = ["f:spec", "f:template", "f:spec", "f:containers", keyOf(container), "f:image"];
  return metadata.managedFields
    .filter(({ manager, fieldsV1 }) => !ourselves.includes(manager) && hasField(fieldsV1, path))
    .map(({ manager, operation }) => ({
      manager: cleanText(manager, 60),
      isApplied: operation === "Apply",
    }));
}

function keyOf(container: string): string {
  return `k:${JSON.stringify({ name: container })}`;
}

function hasField(fields: unknown, path: readonly string[]): boolean {
  let at = fields;
  for (const part of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, part)) return false;
    at = (at as Record<string, unknown>)[part];
  }
  return true;
}
