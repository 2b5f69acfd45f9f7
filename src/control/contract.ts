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
