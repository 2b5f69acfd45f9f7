import { createHash, randomBytes } from "node:crypto";
import { ConnectionError } from "./connection.ts";

/** 32 bytes of randomness in base64url, and their SHA-256 in hex. */
export function makeToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString("base64url");
  return { token, hash: createHash("sha256").update(token).digest("hex") };
}

/**
 * Makes the call that gives Vedette a token's hash. Without an answer it may have been taken all the same,
 * and the earlier token be void: then what is thrown tells `secret`, which nobody could find out any more.
 */
export async function handOver<Answer>(
  secret: string,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const perhaps = `if it was taken all the same, the new one is ${secret}`;
    throw new Error(`${error.message}; ${perhaps} (to be sure, run the command again)`, {
      cause: error,
    });
  }
}
