/** Reads the identity provider's addresses (OpenID Connect Discovery 1.0), when they are needed first. */
import type * as Client from "openid-client";
import type { OidcSettings } from "#control/oidc-config.ts";
import type { Reach } from "#kernel/reach.ts";
import { type BoundedFetch, createBoundedFetch, type FetchLimits } from "./bounded-fetch.ts";

type Library = typeof Client;

/** The library, and what it has found out about the provider. */
export type ProviderHandle = { client: Library; found: Client.Configuration };

export type DiscoveryOptions = { nowMs?: () => number; limits?: FetchLimits; reach?: Reach };

/** How long the provider's addresses are used without being read again. */
const freshForMs = 3_600_000;

/** The provider's addresses; several sign-ins at once read them once, and each one after a failure anew. */
export function createDiscovery(
  oidc: OidcSettings,
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
  oidc: OidcSettings,
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

/** By the method that the provider has; without a word of it that is Basic (RFC 8414, 2). */
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
