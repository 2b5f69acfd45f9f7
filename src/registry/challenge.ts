/** What a registry asks for when it answers 401: a name and password, or a token from elsewhere. */
import { request } from "undici";
import { z } from "zod";
import type { Credential } from "./credentials.ts";
import { isLoopback } from "./image-name.ts";
import { refuse } from "./refusal.ts";

export type Challenge =
  | { scheme: "basic" }
  | { scheme: "bearer"; realm: string; service: string; scope: string };

/** Reads a `WWW-Authenticate` header; undefined for a scheme that no registry uses. */
export function parseChallenge(header: string): Challenge | undefined {
  const [scheme = "", ...rest] = header.trim().split(/\s+/);
  if (/^basic$/i.test(scheme)) return { scheme: "basic" };
  if (!/^bearer$/i.test(scheme)) return undefined;
  const fields = new Map(
    [...rest.join(" ").matchAll(/(\w+)="([^"]*)"/g)].map((match) => [match[1], match[2]]),
  );
  const [realm, service = "", scope = ""] = ["realm", "service", "scope"].map((key) =>
    fields.get(key),
  );
  return realm === undefined ? undefined : { scheme: "bearer", realm, service, scope };
}

export function basicAuthorization({ user, password }: Credential): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

const TokenAnswer = z.object({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().default(60),
});

type Token = { value: string; expiresAtMs: number };

export type TokenSource = (
  challenge: Extract<Challenge, { scheme: "bearer" }>,
  credential: Credential | undefined,
) => Promise<string>;

/** Fetches tokens, and keeps each until shortly before it expires. */
export function createTokenSource(timeoutMs: number): TokenSource {
  const tokens = new Map<string, Token>();
  return async (challenge, credential) => {
    const name = [challenge.realm, challenge.service, challenge.scope, credential?.user].join("\n");
    const known = tokens.get(name);
    if (known !== undefined && known.expiresAtMs > Date.now()) return known.value;
    const token = await fetchToken(challenge, credential, timeoutMs);
    tokens.set(name, token);
    return token.value;
  };
}

async function fetchToken(
  challenge: Extract<Challenge, { scheme: "bearer" }>,
  credential: Credential | undefined,
  timeoutMs: number,
): Promise<Token> {
  const address = new URL(challenge.realm);
  // The password goes there: never in the clear over a network.
  if (address.protocol !== "https:" && !isLoopback(address.host)) {
    throw refuse(
      "registry_auth",
      `the registry sends credentials to ${address.origin} in the clear`,
    );
  }
  if (challenge.service !== "") address.searchParams.set("service", challenge.service);
  if (challenge.scope !== "") address.searchParams.set("scope", challenge.scope);
  const answer = await request(address, {
    headers: credential === undefined ? {} : { authorization: basicAuthorization(credential) },
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 500) throw new Error(`the token service answered ${answer.statusCode}`);
  if (answer.statusCode !== 200) {
    throw refuse(
      "registry_auth",
      `the token service of the registry answered ${answer.statusCode}`,
    );
  }
  const { token, access_token, expires_in } = TokenAnswer.parse(JSON.parse(text));
  const value = token ?? access_token ?? "";
  return { value, expiresAtMs: Date.now() + (expires_in - 10) * 1_000 };
}
