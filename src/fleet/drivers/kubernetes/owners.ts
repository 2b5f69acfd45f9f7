/** Finds who has set a container's image, by the API server's own record of its fields. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { isOtherContent, isSameContent } from "#kernel/image-reference.ts";
import { cleanText } from "#kernel/text.ts";
import type { Workload } from "./schemas.ts";

/** `isApplied`: by server-side apply, again and again; otherwise it was written once. */
export type ImageOwner = { manager: string; isApplied: boolean };

/** All but `ourselves`: the field managers that we are, or were. */
export function ownersOfImage(
  workload: Pick<Workload, "metadata">,
  container: string,
  ourselves: readonly string[],
): ImageOwner[] {
  return managersOf(workload, container)
    .filter(({ manager }) => !ourselves.includes(manager))
    .map(({ manager, operation }) => ({
      manager: cleanText(manager, 60),
      isApplied: operation === "Apply",
    }));
}

/** Returns the managers that changed the image since we applied it and so own the field; an admission policy owns nothing. */
export function changersOfImage(...of: Parameters<typeof ownersOfImage>): ImageOwner[] {
  const [workload, container, ourselves] = of;
  const isOurs = managersOf(workload, container).some(({ manager }) => ourselves.includes(manager));
  return isOurs ? [] : ownersOfImage(...of);
}

function managersOf({ metadata }: Pick<Workload, "metadata">, container: string) {
  const path = ["f:spec", "f:template", "f:spec", "f:containers", keyOf(container), "f:image"];
  return metadata.managedFields.filter(({ fieldsV1 }) => hasField(fieldsV1, path));
}

/** True if the API server made the template's image of this one when we applied it. */
export function isAdmitted(
  present: string,
  { applied, owners }: { applied: string; owners: readonly ImageOwner[] },
): boolean {
  if (isSameContent(present, applied)) return true;
  return present !== "" && owners.length === 0 && !isOtherContent(present, applied);
}

/** Why a deploy fails whose image a cluster has exchanged on its way. */
export function policyReason(image: string, ordered: string): string {
  const code: ReasonCode = "config_invalid";
  return `${code}: a policy of the cluster (an admission policy or webhook) sets ${image} in place of ${ordered}`;
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
