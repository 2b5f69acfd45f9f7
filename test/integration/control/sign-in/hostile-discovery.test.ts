/** An identity provider leads to no part of the program by the addresses that it names. */
import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { createProvider } from "#control/sign-in/provider.ts";
import { createReach } from "#kernel/reach.ts";
import { startServer, startService } from "../../../support/servers/counted-service.ts";

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });

function signToken(claims: object): string {
  const text = [{ alg: "ES256", kid: "a" }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const key = { key: privateKey, dsaEncoding: "ieee-p1363" } as const;
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
}

type Use = (provider: ReturnType<typeof createProvider>) => Promise<unknown>;

const redirectUri = "http://127.0.0.1/callback";
const finish: Use = async (provider) => {
  const { flow } = await provider.start(redirectUri);
  nonce = flow.nonce;
  return provider.finish(flow, `?code=c&state=${flow.state}`);
};
let nonce = "";

const endpoints: [string, Use][] = [
  ["token_endpoint", finish],
  ["jwks_uri", finish],
  ["userinfo_endpoint", finish],
  ["device_authorization_endpoint", (provider) => provider.startDevice()],
  ["token_endpoint", (provider) => provider.pollDevice("code")],
];

describe.each(endpoints)("a provider with its %s at a service of ours", (name, use) => {
  async function attack(spelling: string, isClosed: boolean) {
    const { seen, port } = await startService();
    const at = await startServer(({ url = "" }, own) => {
      const issuer = `http://127.0.0.1:${own}`;
      if (url.startsWith("/token")) {
        const now = Math.floor(Date.now() / 1_000);
        const claims = { iss: issuer, aud: "vedette", sub: "1", iat: now, exp: now + 60, nonce };
        return { access_token: "a", token_type: "bearer", id_token: signToken(claims) };
      }
      if (url.startsWith("/jwks"))
        return { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "a" }] };
      return {
        ...{ issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/jwks`, id_token_signing_alg_values_supported: ["ES256"] },
        [name]: `http://${spelling}:${port}/`,
      };
    });
    const environment = {
      VEDETTE_CONTROL__OIDC__ISSUER: `http://127.0.0.1:${at}`,
      VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
      VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
    };
    const services = isClosed ? [{ name: "Restate", host: "127.0.0.1", port }] : [];
    const { oidc } = readConfig({ environment }).control;
    const reach = createReach({ services });
    await use(createProvider(oidc, { reach })).catch(() => {});
    return seen.connections;
  }

  it.each(["127.0.0.1", "localhost", "0x7f.1"])("does not lead there as %s", async (spelling) => {
    const open = await attack(spelling, false);
    const closed = await attack(spelling, true);

    expect(open).toBeGreaterThan(0);
    expect(closed).toBe(0);
  });
});
