import { createHash, randomBytes } from "node:crypto";

/** 32 bytes of randomness in base64url, and their SHA-256 in hex. */
export function makeToken(): { token: string; hash: string } {
  const token = randomBytes(32).toString("base64url");
  return { token, hash: createHash("sha256").update(token).digest("hex") };
}
