/** Why an image could not be pulled, by what a runtime says of it in its registry's words. Pure. */
import type { ReasonCode } from "#fleet/contract.ts";

/** `isPermanent`: no repetition can help. undefined: the words say nothing that is known. */
export function classifyPull(
  words: string,
): { code: ReasonCode; isPermanent: boolean } | undefined {
  return faults.find(({ sign }) => sign.test(words));
}

/** The first that fits: the name of an image, which is repeated, may have such words itself. */
const faults: readonly { sign: RegExp; code: ReasonCode; isPermanent: boolean }[] = [
  { sign: /toomanyrequests|too many requests/i, code: "registry_unavailable", isPermanent: false },
  {
    sign: /no matching manifest|does not match the specified platform/i,
    code: "image_platform",
    isPermanent: true,
  },
  { sign: /invalid reference|invalid repository name/i, code: "invalid_image", isPermanent: true },
  // What else may be not found: a helper, the address of tokens, a layer on the node.
  {
    sign: /docker-credential-|(oauth|anonymous) token(?!.*(unauthorized|denied))/i,
    code: "image_auth",
    isPermanent: false,
  },
  {
    sign: /(parent|extraction) snapshot|failed to extract layer/i,
    code: "registry_unavailable",
    isPermanent: false,
  },
  { sign: /manifest unknown|name unknown|not found/i, code: "image_not_found", isPermanent: true },
  {
    sign: /no basic auth|unauthorized|denied|authentication required/i,
    code: "image_auth",
    isPermanent: true,
  },
];
