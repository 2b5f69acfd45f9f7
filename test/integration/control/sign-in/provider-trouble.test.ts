/** An identity provider that is away, slow, or answers what it should not. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { createBoundedFetch } from "#control/sign-in/provider.ts";
import { createReach, type Reach } from "#kernel/reach.ts";
import { freePort } from "../../../support/free-port.ts";
import { signInAs } from "../../../support/http/form-browser.ts";
import {
  makeSecret,
  startSignInBench,
  statusPath,
} from "../../../support/program/sign-in-bench.ts";
import { client, startIdentityProvider } from "../../../support/servers/identity-provider.ts";

const people = { ada: { email: "ada@example.com", email_verified: true } };
const redirectUri = "http://127.0.0.1:50505/callback";
const limits = { timeoutMs: 1_000, maxBytes: 100_000 };

const environmentOf = (issuer: string) => ({
  VEDETTE_CONTROL__OIDC__ISSUER: issuer,
  VEDETTE_CONTROL__OIDC__CLIENT_ID: client.id,
  VEDETTE_CONTROL__OIDC__CLIENT_SECRET: client.secret,
  VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
});

async function startBench(issuer: string) {
  const bench = await startSignInBench({ environment: environmentOf(issuer), limits });
  onTestFinished(() => bench.stop());
  const begin = async () => {
    const { verifier, challenge } = makeSecret();
    const body = { redirect_uri: redirectUri, challenge };
    return { verifier, ...(await bench.call("/sign-in/begin", { body })) };
  };
  return { ...bench, begin };
}

type Answer = (request: IncomingMessage, response: ServerResponse, issuer: string) => void;

/** A server that answers whatever the test says. */
async function startStranger(answer: Answer): Promise<string> {
  const server = createServer((request, response) => answer(request, response, issuer));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return issuer;
}

const asJson = (response: ServerResponse, body: unknown) =>
  response.setHeader("content-type", "application/json").end(JSON.stringify(body));

const metadataOf = (issuer: string, more: object = {}) => ({
  issuer,
  authorization_endpoint: `${issuer}/auth`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  device_authorization_endpoint: `${issuer}/device`,
  ...more,
});

describe("a provider that is away", () => {
  it("keeps nobody from starting, and is asked again by the next sign-in", async () => {
    const port = await freePort();
    const { begin, call } = await startBench(`http://127.0.0.1:${port}`);
    const away = await begin();
    const token = await call(statusPath, { bearer: "shared", body: {} });
    const identity = await startIdentityProvider({ people, port });
    onTestFinished(() => identity.stop());

    const there = await begin();

    expect(away).toMatchObject({ status: 503, body: { code: "sign_in_unavailable" } });
    expect(away.body["detail"]).toBe(
      `Signing in at 127.0.0.1:${port} is not possible now: it cannot be reached (ECONNREFUSED). ` +
        "Sessions and tokens go on working.",
    );
    expect(token.status).toBe(200);
    expect(there.status).toBe(200);
  });

  it("is said to be so when it goes away while somebody signs in", async () => {
    const identity = await startIdentityProvider({ people });
    const { begin, call } = await startBench(identity.issuer);
    const { verifier, body } = await begin();
    const url = String(body["authorization_url"]);
    const { url: back } = await signInAs("ada", url, { stopAt: redirectUri });
    await identity.stop();

    const query = new URL(back).search;
    const answer = await call("/sign-in/finish", {
      body: { flow: body["flow"], verifier, query },
    });

    expect(answer).toMatchObject({ status: 503, body: { code: "sign_in_unavailable" } });
  });
});

const strangers: [string, RegExp, Answer][] = [
  ["a page", /its answer is not usable/, (_, response) => response.end("<!doctype html>")],
  [
    "no JSON",
    /not usable/,
    (_, response) => response.setHeader("content-type", "application/json").end("{"),
  ],
  ["a list", /not usable/, (_, response) => asJson(response, [])],
  [
    "another issuer",
    /not usable/,
    (_, response) => asJson(response, metadataOf("https://evil.example")),
  ],
  ["status 500", /not usable/, (_, response) => response.writeHead(500).end()],
  [
    "a redirect",
    /not usable/,
    (_, response) => response.writeHead(302, { location: "http://169.254.169.254/" }).end(),
  ],
  ["nothing", /did not answer in 1 s/, () => {}],
  ["half an answer", /did not answer in 1 s/, (_, response) => response.write("{")],
  ["a broken answer", /cannot be reached/, (_, response) => response.destroy()],
  ["too much", /too large/, (_, response) => response.end("x".repeat(200_000))],
  [
    "no web address to sign in at",
    /not usable/,
    (_, response, issuer) =>
      asJson(response, metadataOf(issuer, { authorization_endpoint: "javascript:alert(1)" })),
  ],
];

describe("a provider that answers with", () => {
  it.each(strangers)("%s is refused in a bounded time", async (_name, words, answer) => {
    const { begin, lines } = await startBench(await startStranger(answer));
    const beganAt = performance.now();

    const { status, body } = await begin();

    expect(status).toBe(503);
    expect(body["detail"]).toMatch(words);
    expect(performance.now() - beganAt).toBeLessThan(20_000);
    expect(lines).toContainEqual(expect.objectContaining({ message: "sign-in failed" }));
  });

  it("a device's address that is none, and a code with control characters, is refused", async () => {
    const devices = [
      { device_code: "d", user_code: "ABCD", verification_uri: "javascript:alert(1)" },
      {
        device_code: "d",
        user_code: "AB\u001b[2J",
        verification_uri: "https://idp.example/device",
      },
      {
        device_code: "d".repeat(9_000),
        user_code: "ABCD",
        verification_uri: "https://idp.example",
      },
    ];
    const issuer = await startStranger((request, response, own) => {
      if (request.url === "/device") asJson(response, { ...devices.shift(), expires_in: 60 });
      else asJson(response, metadataOf(own));
    });
    const { call } = await startBench(issuer);

    const statuses: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const { challenge } = makeSecret();
      statuses.push((await call("/sign-in/device", { body: { challenge } })).status);
    }

    expect(statuses).toEqual([503, 503, 503]);
  });

  it("an address that is plain http elsewhere gets no request", async () => {
    const issuer = await startStranger((_, response, own) =>
      asJson(response, metadataOf(own, { token_endpoint: "http://192.0.2.1/token" })),
    );
    const { begin, call } = await startBench(issuer);
    const { verifier, body } = await begin();
    const query = `?code=c&state=${body["state"]}`;

    const answer = await call("/sign-in/finish", {
      body: { flow: body["flow"], verifier, query },
    });

    expect(answer.status).toBe(503);
    expect(answer.body["detail"]).toContain("it names an address that is not https");
  });

  it.each(["https://169.254.169.254/token", "https://[::ffff:a9fe:a9fe]/token"])(
    "the address %s of a metadata service gets no request",
    async (token_endpoint) => {
      const issuer = await startStranger((_, response, own) =>
        asJson(response, metadataOf(own, { token_endpoint })),
      );
      const { begin, call } = await startBench(issuer);
      const { verifier, body } = await begin();
      const query = `?code=c&state=${body["state"]}`;

      const answer = await call("/sign-in/finish", {
        body: { flow: body["flow"], verifier, query },
      });

      expect(answer.status).toBe(503);
      expect(answer.body["detail"]).toContain("the address is a link-local or metadata address");
    },
  );

  it("an address of one of our services gets no request", async () => {
    const requests: string[] = [];
    const service = await startStranger(({ url = "" }, response) => {
      requests.push(url);
      response.end("{}");
    });
    const port = Number(new URL(service).port);
    const services = [{ name: "Restate", host: "127.0.0.1", port }];
    const ask = (reach: Reach) =>
      createBoundedFetch(
        true,
        undefined,
        reach,
      )(`${service}/token`, { method: "POST", headers: {} });

    await expect(ask(createReach({ services }))).rejects.toThrow(
      "one of Vedette's own services (Restate)",
    );
    expect(requests).toEqual([]);
    await ask(createReach());
    expect(requests).toEqual(["/token"]);
  });

  it("an ID token that it has not signed is refused", async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = (own: string) =>
      `${encode({ alg: "none" })}.${encode({ iss: own, aud: client.id, sub: "ada", email: "ada@example.com", email_verified: true, iat: Math.floor(Date.now() / 1_000), exp: Math.floor(Date.now() / 1_000) + 60 })}.`;
    const issuer = await startStranger((request, response, own) => {
      if (request.url === "/token")
        asJson(response, { access_token: "a", token_type: "bearer", id_token: unsigned(own) });
      else asJson(response, metadataOf(own));
    });
    const { begin, call } = await startBench(issuer);
    const { verifier, body } = await begin();

    const query = `?code=c&state=${body["state"]}`;
    const answer = await call("/sign-in/finish", { body: { flow: body["flow"], verifier, query } });

    expect(answer).toMatchObject({ status: 503, body: { code: "sign_in_unavailable" } });
  });
});
