/** Verifies tokens of CI by the keys of their issuers, through jose; discovery is that of signing in. */
import type * as Jose from "jose";
import {
  createBoundedFetch,
  createDiscovery,
  type FetchLimits,
} from "#control/sign-in/provider.ts";
import { findTrouble, ProviderTrouble } from "#control/sign-in/refusals.ts";
import { createReach, type Reach } from "#kernel/reach.ts";
import { cleanText } from "#kernel/text.ts";
import { describeAudience } from "./match.ts";
import type { Claims } from "./presets.ts";

export type TokenRefusalCode =
  | "malformed_token"
  | "unknown_issuer"
  | "wrong_algorithm"
  | "unknown_key"
  | "wrong_signature"
  | "wrong_audience"
  | "token_expired"
  | "token_not_yet_valid"
  | "missing_claim";

/** The token proves nothing. */
export class TokenRefusal extends Error {
  readonly code: TokenRefusalCode;

  constructor(code: TokenRefusalCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

export type Verified = { claims: Claims; expiresAtMs: number };

export type Issuers = {
  /** The issuer that a token names; nothing is proven yet. Throws `TokenRefusal`. */
  issuerOf: (token: string) => Promise<string>;
  /** Throws `TokenRefusal`; `ProviderTrouble` when the issuer does not answer as it should. */
  verify: (
    token: string,
    of: { issuer: string; audiences: readonly string[] },
  ) => Promise<Verified>;
};

type Options = { reach?: Reach; limits?: FetchLimits };

export function createIssuers({ reach = createReach(), ...options }: Options): Issuers {
  const keysOf = createKeys({ reach, ...options });
  return {
    issuerOf: async (token) => {
      const jose = await import("jose");
      try {
        return String(jose.decodeJwt(token).iss ?? "");
      } catch {
        throw new TokenRefusal("malformed_token", "this is no JSON web token");
      }
    },
    verify: async (token, { issuer, audiences }) => {
      const jose = await import("jose");
      const { keys, name } = await keysOf(issuer).catch((error: unknown) => {
        const trouble = findTrouble(error) ?? "what it says of itself is not usable";
        throw new ProviderTrouble(trouble, { cause: error });
      });
      try {
        const { payload } = await jose.jwtVerify(token, keys, {
          ...{ issuer: name, audience: [...audiences], algorithms: [...algorithms] },
          ...{ clockTolerance, maxTokenAge: longestAge, requiredClaims: ["exp"] },
        });
        return { claims: payload, expiresAtMs: Number(payload.exp) * 1_000 };
      } catch (error) {
        throw translate(error);
      }
    },
  };
}

/** With two keys. With one that both sides know, whoever has the issuer's public key could sign. */
const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
];

/** Seconds by which clocks may differ. */
const clockTolerance = 5;

/** Seconds since the issue: used tokens need to be remembered for no longer. Some CI issues them at the start of a job. */
export const longestAge = 86_400;

/** Keys that the issuer no longer has are not accepted for longer; new ones are found at once, or after the pause. */
const keysForMs = 60_000;
/** An unknown key lets the keys be read again no sooner, since anybody can send one. */
const pauseMs = 10_000;

type Keys = { keys: Jose.JWTVerifyGetKey; name: string };

/** Reads each issuer's addresses once an hour. */
function createKeys(options: Options & { reach: Reach }) {
  const open = (issuer: string) => {
    const discover = createDiscovery({ issuer, client_id: "vedette", client_secret: "" }, options);
    const fetch = createBoundedFetch(issuer.startsWith("http:"), options.limits, options.reach);
    let known: { address: string; keys: Jose.JWTVerifyGetKey } | undefined;
    return async (): Promise<Keys> => {
      const { jwks_uri: address, issuer: name } = (await discover()).found.serverMetadata();
      if (address === undefined) throw new ProviderTrouble("it names no address of its keys");
      if (known?.address !== address) {
        const jose = await import("jose");
        const keys = jose.createRemoteJWKSet(new URL(address), {
          cacheMaxAge: keysForMs,
          cooldownDuration: pauseMs,
          [jose.customFetch]: (url, { headers, ...rest }) =>
            fetch(url, { ...rest, headers: Object.fromEntries(headers) }),
        });
        known = { address, keys };
      }
      return { keys: known.keys, name };
    };
  };
  const readers = new Map<string, () => Promise<Keys>>();
  return (issuer: string): Promise<Keys> => {
    const read = readers.get(issuer) ?? open(issuer);
    readers.set(issuer, read);
    return read();
  };
}

const refusals: Record<string, readonly [TokenRefusalCode, string]> = {
  ERR_JOSE_ALG_NOT_ALLOWED: [
    "wrong_algorithm",
    "the token is not signed by a pair of keys, as by RS256 or ES256",
  ],
  ERR_JOSE_NOT_SUPPORTED: ["wrong_algorithm", "the token is signed in a way that is not supported"],
  ERR_JWKS_NO_MATCHING_KEY: ["unknown_key", "the issuer has no key as the token names it"],
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: ["unknown_key", "the token names none of the issuer's keys"],
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: [
    "wrong_signature",
    "the token's signature is not of the issuer's key",
  ],
  ERR_JWT_EXPIRED: ["token_expired", "the token has expired: use one that was just issued"],
  ERR_JWS_INVALID: ["malformed_token", "this is no signed JSON web token"],
  ERR_JWT_INVALID: ["malformed_token", "this is no JSON web token with claims"],
};

const claimRefusals: Record<string, readonly [TokenRefusalCode, string]> = {
  iss: ["unknown_issuer", "the token's issuer names itself otherwise"],
  nbf: ["token_not_yet_valid", "the token is not valid yet: do the clocks differ?"],
  iat: ["token_not_yet_valid", "the token does not say that it was issued before now"],
};

/** An error of the library as a refusal of the token, or as trouble with its issuer. */
function translate(error: unknown): Error {
  const { code = "", claim = "", reason = "" } = error as Record<string, string>;
  if (reason === "missing") {
    return new TokenRefusal("missing_claim", `the token has no claim "${cleanText(claim, 100)}"`);
  }
  const { payload } = error as { payload?: Claims };
  if (claim === "aud") return new TokenRefusal("wrong_audience", describeAudience(payload ?? {}));
  const known = claimRefusals[claim];
  const found =
    code === "ERR_JWT_CLAIM_VALIDATION_FAILED"
      ? (known ?? refusals["ERR_JWT_INVALID"])
      : refusals[code];
  if (found !== undefined) return new TokenRefusal(...found);
  if (error instanceof ProviderTrouble) return error;
  return new ProviderTrouble(`its keys are not usable (${code || "no answer"})`, { cause: error });
}
