/** Identifies a caller by its token. */
import { createHash, timingSafeEqual } from "node:crypto";

/** The actor of a call with the ingress token. The token is shared, so the name is not a person's. */
export const ingressActor = "ingress-token";

export type Tokens = {
  ingressToken: string;
  /** Named operators: the SHA-256 of each one's token, in hex. */
  operators?: Readonly<Record<string, string>>;
};

export type Identify = (token: string) => string | undefined;

/** Returns the name that belongs to a token. Takes as long for a wrong token as for a right one. */
export function createIdentify(tokens: Tokens): Identify {
  const known = [...digestsOf(tokens)];
  return (token) => {
    const given = digest(token);
    let found: string | undefined;
    for (const [name, expected] of known) if (timingSafeEqual(given, expected)) found = name;
    return found;
  };
}

/**
 * A mark per name that changes when its token is replaced, and reveals nothing about the token: sessions
 * that were signed in with the old token become invalid.
 */
export function tokenMarks(tokens: Tokens): Map<string, string> {
  const marks = [...digestsOf(tokens)].map(([name, value]): [string, string] => [
    name,
    createHash("sha256")
      .update("vedette token mark")
      .update(value)
      .digest("base64url")
      .slice(0, 16),
  ]);
  return new Map(marks);
}

/** The token of an `Authorization: Bearer` header; empty when there is none. */
export function bearerOf(header: string | undefined): string {
  return /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
}

function* digestsOf({ ingressToken, operators = {} }: Tokens): Generator<[string, Buffer]> {
  yield [ingressActor, digest(ingressToken)];
  for (const [name, hash] of Object.entries(operators)) yield [name, Buffer.from(hash, "hex")];
}

/** Digests all have the same length, which a comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
