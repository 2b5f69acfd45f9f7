/** Sends requests about images to their registries, and authenticates when those require it. */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { parseJson } from "#kernel/body.ts";
import { createReach, type Network, type OwnService, type Reach } from "#kernel/reach.ts";
import {
  type BearerChallenge,
  type Challenge,
  checkRealm,
  parseChallenges,
  type RealmRules,
} from "./challenge.ts";
import type { RegistryConfig } from "./config.ts";
import type { Credential, FindCredential } from "./credentials.ts";
import {
  type Answer,
  type RegistryRequest,
  send,
  sendFollowing,
  throwTrouble,
} from "./exchange.ts";
import { type ImageName, isPlainHttp, RegistryTrouble, refuse } from "./image-name.ts";

/** Visible ASCII (RFC 6750, section 2.1), of a length that servers accept as a header by default. */
const TokenText = z
  .string()
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/);

/** Seconds, 60 by default (distribution, "Token authentication"). Services may leave fields out, or write null. */
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
  host: string;
  challenge: BearerChallenge;
  credential: Credential | undefined;
};

type Token = { value: string; isCached: boolean };

type TokenSource = {
  /** Throws a `ProblemError` (registry_auth) or `RegistryTrouble`. */
  find: (wanted: TokenRequest) => Promise<Token>;
  /** Fetches a new token after the registry has refused the cached one. */
  refresh: (wanted: TokenRequest) => Promise<Token>;
};

type TokenRules = RealmRules & { reach: Reach };

/** Fetches tokens for registries from the token service of their challenge, and caches them. */
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
function basicAuthorization(credential: Credential): string | undefined {
  if ("identityToken" in credential) return undefined;
  const pair = `${credential.user}:${credential.password}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

/** `path` follows the repository: `manifests/v1`. Throws a `ProblemError`, or `RegistryTrouble` without an answer. */
export type Exchange = (request: {
  method: "HEAD" | "GET";
  path: string;
  accept?: string;
}) => Promise<Answer>;

/** Opens an exchange for one image; later requests reuse the authorization of the first one. `signal` ends them all. */
export type RegistryClient = (image: ImageName, signal?: AbortSignal) => Exchange;

type Settings = Pick<RegistryConfig, "allowed" | "insecure" | "token_hosts">;

export function createRegistryClient(
  settings: Settings,
  findCredential: FindCredential,
  services: readonly OwnService[] = [],
  more: readonly Network[] = [],
): RegistryClient {
  const { insecure, token_hosts: tokenHosts } = settings;
  const allowedHosts = settings.allowed.map((entry) => entry.split("/")[0] ?? "");
  const named = [...allowedHosts, ...insecure, ...tokenHosts];
  const closed = ["metadata", "loopback", ...more] as const;
  const reach = createReach({ services, closed, named: () => named, closedIfNamed: [] });
  const tokens = createTokenSource({ insecure, tokenHosts, reach });
  return (image, signal) =>
    createExchange({ image, insecure, reach, tokens, findCredential, signal });
}

type ExchangeParts = {
  image: ImageName;
  insecure: readonly string[];
  reach: Reach;
  tokens: TokenSource;
  findCredential: FindCredential;
  signal: AbortSignal | undefined;
};

function createExchange(parts: ExchangeParts): Exchange {
  let authorization: string | undefined;
  return async ({ method, path, accept }) => {
    const address = addressOf(parts, path);
    const send = () => {
      const headers = {
        ...(accept !== undefined && { accept }),
        ...(authorization !== undefined && { authorization }),
      };
      const request: RegistryRequest = { method, address, headers, signal: parts.signal };
      return sendFollowing(request, parts);
    };
    const first = await send();
    if (!isRefused(first)) return first;
    return negotiate(first, parts, (attempt) => {
      authorization = attempt;
      return send();
    });
  };
}

function addressOf({ image, insecure }: ExchangeParts, path: string): URL {
  const scheme = isPlainHttp(image.host, insecure) ? "http" : "https";
  return new URL(`${scheme}://${image.host}/v2/${image.repository}/${path}`);
}

function isRefused({ status }: Answer): boolean {
  return status === 401 || status === 403;
}

/** A registry that always has another challenge does not keep us busy. */
const mostChallenges = 6;

/** Tries the challenges, and those of the answers: a token may need another scope. Throws the first error. */
async function negotiate(
  refusal: Answer,
  parts: ExchangeParts,
  send: (authorization: string) => Promise<Answer>,
): Promise<Answer> {
  const challenges = new Map<string, Challenge>();
  const collect = (from: Answer) => {
    // The target of a redirect is not the registry, so it gets no credentials.
    if (from.address.origin !== addressOf(parts, "").origin) return;
    for (const one of parseChallenges(from.headers("www-authenticate"))) {
      if (challenges.size < mostChallenges) challenges.set(JSON.stringify(one), one);
    }
  };
  collect(refusal);
  let [answer, failure]: [Answer, unknown] = [refusal, undefined];
  for (const challenge of challenges.values()) {
    try {
      for await (const attempt of authorizations(challenge, parts)) {
        answer = await send(attempt);
        if (!isRefused(answer)) return answer;
        collect(answer);
      }
    } catch (error) {
      failure ??= error;
    }
  }
  if (failure !== undefined) throw failure;
  return answer;
}

/** The authorizations to try for a challenge: none without a credential, and a new token after a stale one. */
async function* authorizations(
  challenge: Challenge,
  { image, tokens, findCredential }: ExchangeParts,
): AsyncGenerator<string> {
  const credential = findCredential(image.registry, image.repository);
  if (challenge.scheme === "basic") {
    const authorization = credential && basicAuthorization(credential);
    if (authorization !== undefined) yield authorization;
    return;
  }
  const scope = challenge.scope || `repository:${image.repository}:pull`;
  const wanted = { host: image.host, challenge: { ...challenge, scope }, credential };
  const token = await tokens.find(wanted);
  yield `Bearer ${token.value}`;
  if (token.isCached) yield `Bearer ${(await tokens.refresh(wanted)).value}`;
}
