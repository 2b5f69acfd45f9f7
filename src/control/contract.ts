/** Facts about the gateway's callers that other parts know. */
import { z } from "zod";
import { isPersonal } from "#kernel/words.ts";

/** Lower case, because environment variables have no case: VEDETTE_CONTROL__OPERATORS__ALICE. */
export const OperatorName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._@-]{0,63}$/, {
    error: "must be a lower-case name of 64 characters at most",
  })
  .refine(isPersonal, {
    error: "is the name of the ingress token itself, of callers without a token, or of Vedette",
  });

/**
 * The name of a claim as it is compared and recorded. Only ASCII letters are made lower-case: other letters
 * may become an ASCII one, such as the Kelvin sign, and with it somebody else's name. `sub` is as it is, because
 * its letters' case distinguishes people (OpenID Connect Core 1.0, 2).
 */
export function lowerCaseName(name: string, claim: string): string {
  if (claim === "sub") return name;
  return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
