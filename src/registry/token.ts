/** Fetches tokens for registries from the token service of their challenge, and caches them. */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import type { Reach } from "#kernel/reach.ts";
import { type BearerChallenge, checkRealm, type RealmRules } from "./challenge.ts";
import type { Credential } from "./credentials.ts";
import {
  type Answer,
  type RegistryRequest,
  send,
  sendFollowing,
  throwTrouble,
} from "./exchange.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";

/** Visible ASCII (RFC 6750, section 2.1), of a length that servers accept as a header by default. */
const TokenText = z
  .string()
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/);

/**
 * Lifetimes are in seconds; the default is 60 (distribution, "Token authentication"). Services leave out what they have
 * under another name, or write null, nothing or a text for it.
 */
const TokenAnswer = z.object({
  token: TokenText.optional().catch(undefined),
  access_token: TokenText.optional().catch(undefined),
  expires_in: z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]).catch(60),
});

/** A token is not used in its last seconds, so that it doesn't expire before the registry reads it. */
const marginSeconds = 10;

/** Upper limit of a token's lifetime, so that a change of permissions takes effect. */
const longestLifetimeSeconds = 3_600;

/** Limited, because callers decide how many images there are. */
const cachedAtMost = 500;

type TokenRequest = {
  /** The registry that requires the token. */
  host: string;
  challenge: BearerChallenge;
  credential: Credential | undefined;
};

type Token = { value: string; isCached: boolean };

export type TokenSource = {
  /** Throws a `ProblemError` (registry_auth) or `RegistryTrouble`. */
  find: (wanted: TokenRequest) => Promise<Token>;
  /** Fetches a new token after the registry has refused the cached one. */
  refresh: (wanted: TokenRequest) => Promise<Token>;
};

type TokenRules = RealmRules & { reach: Reach };

export function createTokenSource(rules: TokenRules): TokenSource {
  const cache = new LRUCache<string, { value: string; expiresAtMs: number }>({ max: cachedAtMost });
  const refresh = async (wanted: TokenRequest) => {
    const { value, lifetimeSeconds } = await fetchToken(wanted, rules);
    const usableSeconds = Math.min(lifetimeSeconds, longestLifetimeSeconds) - marginSeconds;
    cache.set(nameOf(wanted), { value, expiresAtMs: Date.now() + usableSeconds * 1_000 });
    return { value, isCached: false };
  };
  const find = async (wanted: TokenRequest) => {
    const token = cache.get(nameOf(wanted));
    if (token === undefined || token.expiresAtMs <= Date.now()) return refresh(wanted);
    return { value: token.value, isCached: true };
  };
  return { find, refresh };
}

/** The cache key has the registry, so that a token is never sent to another one, and whose token it is. */
function nameOf({ host, challenge, credential }: TokenRequest): string {
  return JSON.stringify([host, challenge, credential]);
}

async function fetchToken(wanted: TokenRequest, rules: TokenRules) {
  const { host, challenge } = wanted;
  const realm = checkRealm(challenge.realm, host, rules);
  const request = requestOf(wanted, realm);
  // A form has a secret, so that it goes to no other address.
  const follows = request.body === undefined;
  const answer = await (follows ? sendFollowing(request, rules) : send(request, rules.reach));
  throwTrouble(answer);
  if (answer.status !== 200) {
    const detail = `the token service of ${host} answered ${answer.status}`;
    throw refuse("registry_auth", `${detail}; check the registry's credentials`);
  }
  return readToken(answer, host);
}

function requestOf({ challenge, credential }: TokenRequest, realm: URL): RegistryRequest {
  const { service, scope } = challenge;
  if (credential !== undefined && "identityToken" in credential) {
    const named = service === "" ? {} : { service };
    return exchangeIdentity(realm, { ...named, scope, refresh_token: credential.identityToken });
  }
  const address = new URL(realm);
  if (service !== "") address.searchParams.set("service", service);
  // One of several scopes a parameter, which a form has in one.
  for (const [one] of scope.matchAll(/\S+/g)) address.searchParams.append("scope", one);
  const authorization = credential && basicAuthorization(credential);
  return { method: "GET", address, headers: authorization === undefined ? {} : { authorization } };
}

/** An identity token is a refresh token (distribution, "Docker Registry v2 OAuth2 tokens"). */
function exchangeIdentity(address: URL, fields: Record<string, string>): RegistryRequest {
  const form = { grant_type: "refresh_token", client_id: "vedette", ...fields };
  return {
    method: "POST",
    address,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  };
}

function readToken({ body }: Answer, host: string) {
  try {
    const { token, access_token, expires_in } = TokenAnswer.parse(parseJson(body, 10_000));
    return { value: TokenText.parse(token ?? access_token), lifetimeSeconds: expires_in };
  } catch {
    // Without the cause: it could quote the token.
    throw new RegistryTrouble(`the token service of ${host} answered without a valid token`);
  }
}

/** The basic authorization of a name and password; undefined for an identity token. */
export function basicAuthorization(credential: Credential): string | undefined {
  if ("identityToken" in credential) return undefined;
  const pair = `${credential.user}:${credential.password}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}
