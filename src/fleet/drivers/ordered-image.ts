/** Compares what another system says of an image with what was ordered of it. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";
import { isSameContent, isSameImage, parseImageReference } from "#kernel/image-reference.ts";

/** True of an image that was ordered by its digest, whatever else its name has. */
export function hasDigest(image: string): boolean {
  return parseImageReference(image)?.digest !== undefined;
}

/** True if it certainly is the ordered image: a tag alone does not say which digest it stands for. */
export function isOrderedImage(image: string, ordered: string): boolean {
  return isSameContent(image, ordered);
}

/** True if it certainly is another one: names may be those of mirrors. */
export function hasOtherDigest(image: string, ordered: string): boolean {
  return hasDigest(image) && hasDigest(ordered) && !isSameImage(image, ordered);
}

/** Why a deploy fails whose image a cluster has exchanged on its way. */
export function policyReason(image: string, ordered: string): string {
  const code: ReasonCode = "config_invalid";
  return `${code}: a policy of the cluster (an admission policy or webhook) sets ${image} in place of ${ordered}`;
}
