/** The identity provider: everything that is asked of it, through openid-client. */
import type * as Client from "openid-client";
import type { OidcSettings } from "#control/oidc-config.ts";
import { isLoopback } from "#kernel/address.ts";
import { within } from "#kernel/async.ts";
import { readBody } from "#kernel/body.ts";
import { request } from "#kernel/http.ts";
import { ClosedAddressError, createReach, type Reach } from "#kernel/reach.ts";
import { isClean } from "#kernel/text.ts";
import { type Claims, readClaim } from "./claims.ts";
import { ProviderTrouble } from "./refusals.ts";

/** Requests to the identity provider, within limits of time and size. */
export type FetchLimits = {
  /** Timeout of a whole request, with its answer's body. */
  timeoutMs: number;
  maxBytes: number;
};

const fetchLimits: FetchLimits = { timeoutMs: 5_000, maxBytes: 512 * 1_024 };

/** Options as the library passes them. */
type FetchOptions = {
  method: string;
  headers: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | undefined;
};

type BoundedFetch = (url: string, options: FetchOptions) => Promise<Response>;

/** Follows no redirect. Throws `ProviderTrouble`, also for an address that is neither https nor, with `mayBePlain`, here. */
export function createBoundedFetch(
  mayBePlain: boolean,
  limits = fetchLimits,
  reach = createReach(),
): BoundedFetch {
  return async (address, { method, headers, body, signal }) => {
    requireSafe(address, mayBePlain);
    try {
      const answer = await request(address, {
        method: method === "POST" ? "POST" : "GET",
        headers,
        dispatcher: reach.agent,
        ...(body !== undefined && body !== null && { body: String(body) }),
        signal: within(limits.timeoutMs, signal),
      });
      const whole = await readBody(answer.body, limits.maxBytes);
      if (whole === undefined) throw new ProviderTrouble("its answer is too large");
      return toResponse(answer, whole);
    } catch (error) {
      if (error instanceof ProviderTrouble) throw error;
      throw new ProviderTrouble(describe(error, limits));
    }
  };
}

function requireSafe(address: string, mayBePlain: boolean): void {
  const url = URL.parse(address);
  const isPlain = url?.protocol === "http:" && mayBePlain && isLoopback(url.hostname);
  if (url?.protocol === "https:" || isPlain) return;
  throw new ProviderTrouble("it names an address that is not https");
}

type Answer = { statusCode: number; headers: Record<string, string | string[] | undefined> };

const passed = ["content-type", "www-authenticate", "retry-after"];

function toResponse({ statusCode: status, headers }: Answer, body: Buffer): Response {
  if (status < 200 || status > 599) throw new ProviderTrouble(`it answered ${status}`);
  const kept = passed.flatMap((name): [string, string][] => {
    const [value] = [headers[name] ?? []].flat();
    return value === undefined ? [] : [[name, value]];
  });
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : new Uint8Array(body), { status, headers: kept });
}

function describe(error: unknown, { timeoutMs }: FetchLimits): string {
  if (error instanceof ClosedAddressError) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === "TimeoutError") return `it did not answer in ${timeoutMs / 1_000} s`;
  return `it cannot be reached (${code ?? name})`;
}

/** The secrets of one sign-in, between its begin and its end. */
export type Flow = { state: string; nonce: string; verifier: string; redirectUri: string };

export type DeviceStart = {
  deviceCode: string;
  userCode: string;
  verificationUri: string;
  /** Has the code in it; undefined: the provider has no such address. */
  completeUri: string | undefined;
  intervalSeconds: number;
  expiresInSeconds: number;
};

export type DevicePoll = { claims: Claims } | { pending: true; isTooFast: boolean };

/** Each throws `ProviderTrouble`, or an error of the library: `describeFailure` puts them into words. */
export type Provider = {
  /** Its host, for people. */
  host: string;
  /** A new sign-in, and the address at which the person continues it. */
  start: (redirectUri: string) => Promise<{ flow: Flow; url: string }>;
  /** The claims, for the query with which the provider sent the browser back. */
  finish: (flow: Flow, query: string) => Promise<Claims>;
  startDevice: () => Promise<DeviceStart>;
  pollDevice: (deviceCode: string) => Promise<DevicePoll>;
};

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** Asks the provider only when somebody signs in: `control` starts without it. */
export function createProvider(oidc: OidcSettings, options: DiscoveryOptions = {}): Provider {
  const scope = oidc.scopes.join(" ");
  const discover = createDiscovery(oidc, options);
  return {
    host: new URL(oidc.issuer).host,

    start: async (redirectUri) => {
      const { client, found } = await discover();
      const { randomNonce: nonce, randomPKCECodeVerifier: verifier, randomState: state } = client;
      const flow = { state: state(), nonce: nonce(), verifier: verifier(), redirectUri };
      const url = client.buildAuthorizationUrl(found, {
        redirect_uri: redirectUri,
        scope,
        state: flow.state,
        nonce: flow.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(flow.verifier),
        code_challenge_method: "S256",
      });
      return { flow, url: requireAddress(url.href) };
    },

    finish: async ({ state, nonce, verifier, redirectUri }, query) => {
      const ready = await discover();
      const callback = new URL(redirectUri);
      callback.search = query;
      const tokens = await ready.client.authorizationCodeGrant(ready.found, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      });
      return readClaims(ready, { oidc, tokens });
    },

    startDevice: async () => {
      const { client, found } = await discover();
      if (found.serverMetadata().device_authorization_endpoint === undefined) {
        throw new ProviderTrouble("it offers no sign-in by a code (RFC 8628)");
      }
      return checkDevice(await client.initiateDeviceAuthorization(found, { scope }));
    },

    pollDevice: async (deviceCode) => {
      const ready = await discover();
      try {
        const parameters = { device_code: deviceCode };
        const tokens = await ready.client.genericGrantRequest(ready.found, deviceGrant, parameters);
        return { claims: await readClaims(ready, { oidc, tokens }) };
      } catch (error) {
        const { error: word } = error as { error?: unknown };
        const isTooFast = word === "slow_down";
        if (isTooFast || word === "authorization_pending") return { pending: true, isTooFast };
        throw error;
      }
    },
  };
}

type Tokens = Client.TokenEndpointResponse & Client.TokenEndpointResponseHelpers;

/** Reads the claims of the ID token, and of the UserInfo endpoint if the ID token lacks the name or the roles. */
async function readClaims(
  { client, found }: ProviderHandle,
  { oidc, tokens }: { oidc: OidcSettings; tokens: Tokens },
): Promise<Claims> {
  const claims: Claims | undefined = tokens.claims();
  if (claims === undefined) throw new ProviderTrouble("it sent no ID token");
  const { name_claim: name, roles_claim: roles } = oidc;
  const wanted = [name, roles, ...(name === "email" ? ["email_verified"] : [])];
  const isWhole = wanted.every((claim) => readClaim(claims, claim) !== undefined);
  if (isWhole || found.serverMetadata().userinfo_endpoint === undefined) return claims;
  const info = await client.fetchUserInfo(found, tokens.access_token, String(claims["sub"]));
  return joinClaims(claims, info);
}

/** An address and whether it is verified come from the same answer. */
export function joinClaims(idToken: Claims, userInfo: Claims): Claims {
  const { email: _, email_verified: __, ...others } = idToken;
  const isWhole = Object.hasOwn(idToken, "email") && Object.hasOwn(idToken, "email_verified");
  const source = isWhole ? idToken : userInfo;
  const { email, email_verified } = source;
  return { ...userInfo, ...others, email, email_verified };
}

const longestCode = 2_000;
const longestAddress = 4_000;

function checkDevice(answer: Client.DeviceAuthorizationResponse): DeviceStart {
  const { device_code: deviceCode, user_code: userCode, interval = 5 } = answer;
  if (deviceCode.length > longestCode || !isClean(userCode, 64)) {
    throw new ProviderTrouble("its code is not usable");
  }
  const { verification_uri: address, verification_uri_complete: complete } = answer;
  return {
    deviceCode,
    userCode,
    verificationUri: requireAddress(address),
    completeUri: complete === undefined ? undefined : requireAddress(complete),
    intervalSeconds: Math.min(Math.max(interval, 1), 60),
    expiresInSeconds: Math.min(Math.max(answer.expires_in, 1), 900),
  };
}

/** People open it, and a terminal shows it. */
function requireAddress(text: string): string {
  const url = URL.parse(text);
  const isWeb = url !== null && /^https?:$/.test(url.protocol);
  if (isWeb && text.length <= longestAddress) return url.href;
  throw new ProviderTrouble("it names an address that cannot be opened");
}

type Library = typeof Client;

/** The library, and what it has found out about the provider. */
type ProviderHandle = { client: Library; found: Client.Configuration };

type DiscoveryOptions = { nowMs?: () => number; limits?: FetchLimits; reach?: Reach };

/** The provider's addresses are used for so long without being read again. */
const freshForMs = 3_600_000;

/** The provider's addresses; several sign-ins at once read them once, and each one after a failure anew. */
export function createDiscovery(
  oidc: Pick<OidcSettings, "issuer" | "client_id" | "client_secret">,
  { nowMs = Date.now, limits, reach }: DiscoveryOptions,
) {
  const isPlain = oidc.issuer.startsWith("http:");
  const fetch = createBoundedFetch(isPlain, limits, reach);
  let known: { ready: Promise<ProviderHandle>; atMs: number } | undefined;
  return (): Promise<ProviderHandle> => {
    if (known !== undefined && nowMs() - known.atMs < freshForMs) return known.ready;
    const reading = { ready: readProvider(oidc, { fetch, isPlain }), atMs: nowMs() };
    known = reading;
    reading.ready.catch(() => {
      if (known === reading) known = undefined;
    });
    return reading.ready;
  };
}

async function readProvider(
  oidc: Pick<OidcSettings, "issuer" | "client_id" | "client_secret">,
  { fetch, isPlain }: { fetch: BoundedFetch; isPlain: boolean },
): Promise<ProviderHandle> {
  const client = await import("openid-client");
  const found = await client.discovery(
    new URL(oidc.issuer),
    oidc.client_id,
    undefined,
    oidc.client_secret === "" ? client.None() : authenticate(client, oidc.client_secret),
    {
      [client.customFetch]: fetch as Client.CustomFetch,
      execute: [
        // The signature of ID tokens, although they come from the provider itself.
        client.enableNonRepudiationChecks,
        ...(isPlain ? [client.allowInsecureRequests] : []),
      ],
    },
  );
  return { client, found };
}

/** Chooses a method that the provider has; without a word of it that is Basic (RFC 8414, 2). */
function authenticate(client: Library, secret: string): Client.ClientAuth {
  const methods = {
    basic: client.ClientSecretBasic(secret),
    post: client.ClientSecretPost(secret),
  };
  return (server, ...rest) => {
    const offered = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
    const method = offered.includes("client_secret_basic") ? "basic" : "post";
    methods[method](server, ...rest);
  };
}
