/** Why an image could not be pulled, by what a runtime says of it in its registry's words. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";

type PullFault = { code: ReasonCode; isPermanent: boolean };

/** Of words without end the patterns would read the rest again at each place that fits. */
export const mostGraded = 4_096;

/** `isPermanent`: no repetition can help. undefined: the words say nothing that is known. */
export function classifyPull(words: string): PullFault | undefined {
  const beginning = words.slice(0, mostGraded);
  const found = faults.find(([sign]) => sign.test(beginning));
  return found && { code: found[1], isPermanent: found[2] };
}

/** The first that fits. The image's name may have such words, and a helper or a layer may be what is not found. */
const faults: readonly (readonly [RegExp, ReasonCode, boolean])[] = [
  [/toomanyrequests|too many requests/i, "registry_unavailable", false],
  [/no match(ing | for platform)|no image found in|specified platform/i, "image_platform", true],
  [/invalid reference|invalid repository name/i, "invalid_image", true],
  [/docker-credential-|(oauth|anonymous) token(?!.* 401 )|403 forbidden/i, "image_auth", false],
  [/(parent|extraction) snapshot|failed to extract layer/i, "registry_unavailable", false],
  [/manifest unknown|name (unknown|not known)|not found|statuscode: 404/i, "image_not_found", true],
  [/no basic auth|unauthorized|denied|authentication required/i, "image_auth", true],
];
