/** Tokens for registries, fetched from where their challenge says and kept until they expire. */
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { type BearerChallenge, checkRealm, type RealmRules } from "./challenge.ts";
import type { Credential } from "./credentials.ts";
import { type Answer, ask, type Question, throwTrouble } from "./exchange.ts";
import type { Reach } from "./reach.ts";
import { RegistryTrouble, refuse } from "./refusal.ts";

/** What servers take as a header by default, and visible ASCII as it stands in one (RFC 6750, section 2.1). */
const TokenText = z
  .string()
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/);

/** Lifetimes are in seconds; 60 when the service does not say (distribution, "Token authentication"). */
const TokenAnswer = z
  .object({
    token: TokenText.optional(),
    access_token: TokenText.optional(),
    expires_in: z.number().default(60),
  })
  .transform(({ token, access_token, expires_in }, context) => {
    const value = token ?? access_token;
    if (value !== undefined) return { value, lifetimeSeconds: expires_in };
    context.addIssue({ code: "custom", message: "no token" });
    return z.NEVER;
  });

/** A token is not used in its last seconds: it has to live until the registry reads it. */
const marginSeconds = 10;

/** A token is used no longer, whatever its service says: after a change of rights it is asked again. */
const longestLifetimeSeconds = 3_600;

/** Who names the images decides how many there are. */
const keptAtMost = 500;

type TokenRequest = {
  /** The registry that asks for the token. */
  host: string;
  challenge: BearerChallenge;
  credential: Credential | undefined;
};

type Token = { value: string; isKept: boolean };

export type TokenSource = {
  /** Throws a `ProblemError` (registry_auth) or `RegistryTrouble`. */
  find: (wanted: TokenRequest) => Promise<Token>;
  /** Fetches anew: the registry did not take the one that was kept. */
  refresh: (wanted: TokenRequest) => Promise<Token>;
};

type TokenRules = RealmRules & { reach: Reach };

export function createTokenSource(rules: TokenRules): TokenSource {
  const kept = new LRUCache<string, { value: string; expiresAtMs: number }>({ max: keptAtMost });
  const refresh = async (wanted: TokenRequest) => {
    const { value, lifetimeSeconds } = await fetchToken(wanted, rules);
    const usableSeconds = Math.min(lifetimeSeconds, longestLifetimeSeconds) - marginSeconds;
    kept.set(nameOf(wanted), { value, expiresAtMs: Date.now() + usableSeconds * 1_000 });
    return { value, isKept: false };
  };
  const find = async (wanted: TokenRequest) => {
    const token = kept.get(nameOf(wanted));
    if (token === undefined || token.expiresAtMs <= Date.now()) return refresh(wanted);
    return { value: token.value, isKept: true };
  };
  return { find, refresh };
}

/** By registry as well: what one registry was given is never shown to another. */
function nameOf({ host, challenge }: TokenRequest): string {
  return [host, challenge.realm, challenge.service, challenge.scope].join("\n");
}

async function fetchToken(wanted: TokenRequest, rules: TokenRules) {
  const { host, challenge } = wanted;
  const realm = checkRealm(challenge.realm, host, rules);
  const answer = await ask(questionOf(wanted, realm), rules.reach);
  throwTrouble(answer);
  if (answer.status !== 200) {
    const detail = `the token service of ${host} answered ${answer.status}`;
    throw refuse("registry_auth", `${detail}; check the registry's credentials`);
  }
  return readToken(answer, host);
}

function questionOf({ challenge, credential }: TokenRequest, realm: URL): Question {
  const { service, scope } = challenge;
  if (credential !== undefined && "identityToken" in credential) {
    return exchangeIdentity(realm, { service, scope, refresh_token: credential.identityToken });
  }
  const address = new URL(realm);
  if (service !== "") address.searchParams.set("service", service);
  if (scope !== "") address.searchParams.set("scope", scope);
  const authorization = credential && basicAuthorization(credential);
  return { method: "GET", address, headers: authorization === undefined ? {} : { authorization } };
}

/** An identity token is a refresh token (distribution, "Docker Registry v2 OAuth2 tokens"). */
function exchangeIdentity(address: URL, fields: Record<string, string>): Question {
  const form = { grant_type: "refresh_token", client_id: "vedette", ...fields };
  return {
    method: "POST",
    address,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  };
}

function readToken({ body }: Answer, host: string): z.infer<typeof TokenAnswer> {
  try {
    return TokenAnswer.parse(JSON.parse(body.toString()));
  } catch {
    // Without the cause: it could quote the token.
    throw new RegistryTrouble(`no token in the answer of the token service of ${host}`);
  }
}

/** The header for a name and password; undefined for an identity token, which is neither. */
export function basicAuthorization(credential: Credential): string | undefined {
  if ("identityToken" in credential) return undefined;
  const pair = `${credential.user}:${credential.password}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}
