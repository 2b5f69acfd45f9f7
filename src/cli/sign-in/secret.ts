import { createHash } from "node:crypto";
import { makeToken } from "#cli/token.ts";

/** The verifier stays here until the sign-in is finished: nobody else can finish it. */
export type Secret = { verifier: string; challenge: string };

export function makeSecret(): Secret {
  const { token: verifier } = makeToken();
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}
