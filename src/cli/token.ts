import { createHash, randomBytes } from "node:crypto";
import { ConnectionError } from "./answer.ts";

/** 32 bytes of randomness in base64url, and their SHA-256 in hex. */
export function makeToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString("base64url");
  return { token, hash: createHash("sha256").update(token).digest("hex") };
}

/** The verifier stays here until the sign-in is finished: nobody else can finish it. */
export type Secret = { verifier: string; challenge: string };

export function makeSecret(): Secret {
  const { token: verifier } = makeToken();
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** Sends a token's hash. Without an answer it may be stored and the earlier one void: the error contains `secret`. */
export async function registerToken<Answer>(
  secret: string,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const perhaps = `if the change was made all the same, the new one is ${secret}`;
    throw new Error(`${error.message}; ${perhaps} (to be sure, run the command again)`, {
      cause: error,
    });
  }
}
