/** An issuer of CI's tokens on this machine: discovery and keys are of oidc-provider, the tokens are signed by its keys. */
import { generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type JWTPayload, SignJWT } from "jose";
import { Provider } from "oidc-provider";

export type CiIssuer = Awaited<ReturnType<typeof startCiIssuer>>;

export const audience = "https://vedette.example.com";

/** As GitHub writes them. */
export const githubClaims = {
  sub: "repo:acme/shop:environment:production",
  repository: "acme/shop",
  repository_id: "4711",
  repository_owner: "acme",
  workflow_ref: "acme/shop/.github/workflows/rollout.yml@refs/heads/main",
  ref: "refs/heads/main",
  environment: "production",
  event_name: "push",
  head_ref: "",
  base_ref: "",
  run_id: "42",
  sha: "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d",
  actor: "ada",
};

type Signing = {
  alg?: "RS256" | "ES256" | "HS256";
  kid?: string;
  key?: KeyObject | Uint8Array;
};

type Keys = { RS256: { kid: string; key: KeyObject }; ES256: { kid: string; key: KeyObject } };

function makeKeys(generation: string): Keys {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 }).privateKey;
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  return {
    RS256: { kid: `rsa-${generation}`, key: rsa },
    ES256: { kid: `ec-${generation}`, key: ec },
  };
}

export async function startCiIssuer() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const paths: string[] = [];
  let keys = makeKeys("first");
  let answer = serve(issuer, keys);
  server.on("request", (request, response) => {
    paths.push(request.url ?? "");
    answer(request, response);
  });
  const sign = (claims: JWTPayload = {}, { alg = "RS256", ...signing }: Signing = {}) => {
    const own = alg === "HS256" ? keys.RS256 : keys[alg];
    const now = Math.floor(Date.now() / 1_000);
    const standard = { iss: issuer, aud: audience, iat: now, nbf: now, exp: now + 300 };
    return new SignJWT({ ...standard, jti: randomUUID(), ...githubClaims, ...claims })
      .setProtectedHeader({ alg, kid: signing.kid ?? own.kid, typ: "JWT" })
      .sign(signing.key ?? own.key);
  };
  return {
    issuer,
    paths,
    sign,
    keys: () => keys,
    /** Replaces all keys; tokens are signed by the new ones. */
    rotate: () => {
      keys = makeKeys("second");
      answer = serve(issuer, keys);
    },
    stop: async () => {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, "close");
    },
  };
}

function serve(issuer: string, keys: Keys) {
  const jwks = Object.entries(keys).map(([alg, { kid, key }]) => {
    return { ...key.export({ format: "jwk" }), kid, alg, use: "sig" };
  });
  const provider = new Provider(issuer, {
    jwks: { keys: jwks },
    cookies: { keys: ["a key for cookies"] },
    features: { devInteractions: { enabled: false } },
  });
  return provider.callback();
}
