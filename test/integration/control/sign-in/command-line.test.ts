/** Signing in for the command line, with a real identity provider. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createLogouts } from "#console/server/stored.ts";
import { createNames } from "#control/sign-in/names.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { freePort } from "../../../support/free-port.ts";
import { signInAs } from "../../../support/http/form-browser.ts";
import {
  cancelPath,
  makeSecret,
  rolloutPath,
  type SignInBench,
  startSignInBench,
  statusPath,
} from "../../../support/program/sign-in-bench.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../../support/servers/identity-provider.ts";
import { waitFor } from "../../../support/wait-for.ts";

const verified = (email: string, groups: unknown) => ({ email, email_verified: true, groups });

const people = {
  ada: verified("Ada@Example.com", ["release-managers"]),
  ben: verified("ben@example.com", ["approvers", "others"]),
  nobody: verified("nobody@example.com", ["others"]),
  unsure: { email: "ada@example.com", email_verified: false, groups: ["release-managers"] },
  taken: verified("cem", ["release-managers"]),
};

const silent = createLog({ level: "silent", format: "json" });

const redirectUri = "http://127.0.0.1:50505/callback";

let identity: IdentityProvider;
let bench: SignInBench;

beforeAll(async () => {
  identity = await startIdentityProvider({ people });
});

afterAll(() => identity.stop());

const environmentOf = () => ({
  ...identity.environment,
  VEDETTE_CONTROL__OIDC__ROLES: "release-managers=read,operate;approvers=approve",
  VEDETTE_CONTROL__OPERATORS__CEM: "ab".repeat(32),
});

beforeEach(async () => {
  bench = await startSignInBench({ environment: environmentOf() });
  onTestFinished(() => bench.stop());
});

async function begin() {
  const { verifier, challenge } = makeSecret();
  const body = { redirect_uri: redirectUri, challenge };
  const { body: begun } = await bench.call("/sign-in/begin", { body });
  return { verifier, flow: String(begun["flow"]), url: String(begun["authorization_url"]), begun };
}

/** The query with which the provider sends somebody's browser back. */
async function visit(url: string, login: string, answer: "yes" | "no" = "yes"): Promise<string> {
  const { url: back } = await signInAs(login, url, { stopAt: redirectUri, answer });
  return new URL(back).search;
}

const finish = (body: { flow: string; verifier: string; query: string }) =>
  bench.call("/sign-in/finish", { body });

async function signIn(login: string) {
  const { verifier, flow, url } = await begin();
  return finish({ verifier, flow, query: await visit(url, login) });
}

async function openAwayDatabase() {
  const database = openDatabase(`postgres://127.0.0.1:${await freePort()}/none`, silent);
  onTestFinished(() => database.end());
  return database;
}

const bearerOf = ({ body }: { body: Record<string, unknown> }) => String(body["token"]);

describe("a sign-in from the command line", () => {
  it("makes a session with the roles of the groups, under the e-mail address", async () => {
    const { status, body } = await signIn("ada");

    expect(status).toBe(200);
    expect(body).toMatchObject({ actor: "ada@example.com", roles: ["read", "operate"] });
    expect(body["token"]).toMatch(/^vds_[\w-]{100,}$/);
    expect(Date.parse(String(body["ends_at"])) - Date.now()).toBeGreaterThan(11.9 * 3_600_000);
  });

  it("asks by PKCE, with a state and a nonce, for a code alone", async () => {
    const { begun } = await begin();
    const { searchParams } = new URL(String(begun["authorization_url"]));

    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: "vedette",
      response_type: "code",
      redirect_uri: redirectUri,
      scope: "openid email profile",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      state: begun["state"],
    });
  });

  it("makes calls in the person's name, as far as the roles go", async () => {
    const ada = bearerOf(await signIn("ada"));
    const ben = bearerOf(await signIn("ben"));

    const answers = [
      await bench.call(cancelPath, { bearer: ada, body: {} }),
      await bench.call(statusPath, { bearer: ben, body: {} }),
      await bench.call(cancelPath, { bearer: ben, body: {} }),
    ];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 403]);
    expect(answers[2]?.body["detail"]).toBe(
      "ben@example.com may approve; this call takes operate (control.oidc)",
    );
    expect(bench.actors).toEqual(["ada@example.com", "ben@example.com"]);
  });

  it("is in the log with the name and the way, and no secret is", async () => {
    const { verifier, flow, url } = await begin();
    const query = await visit(url, "ada");
    const session = await finish({ verifier, flow, query });
    await bench.call(cancelPath, { bearer: bearerOf(session), body: {} });

    const log = JSON.stringify(bench.lines);
    const { searchParams } = new URL(`http://x/${query}`);

    expect(bench.lines).toContainEqual(
      expect.objectContaining({
        message: "signed in",
        actor: "ada@example.com",
        subject: "ada",
        how: "command line",
      }),
    );
    expect(bench.lines).toContainEqual(
      expect.objectContaining({ message: "call answered", actor: "ada@example.com" }),
    );
    for (const secret of [searchParams.get("code"), verifier, flow, bearerOf(session)]) {
      expect(log).not.toContain(secret);
    }
  });

  it.each([
    ["nobody", 403, /^nobody@example\.com has no role here: .*"groups".*control\.oidc\.roles/],
    ["unsure", 403, /has not verified your e-mail address/],
    ["taken", 403, /^cem is an operator with a token of their own/],
  ])("refuses %s with %i and says why", async (login, status, words) => {
    const answer = await signIn(login);

    expect(answer.status).toBe(status);
    expect(answer.body["detail"]).toMatch(words);
    expect(bench.lines).toContainEqual(expect.objectContaining({ message: "sign-in refused" }));
  });

  it("says so when the person has refused at the provider", async () => {
    const { verifier, flow, url } = await begin();

    const { status, body } = await finish({ verifier, flow, query: await visit(url, "ada", "no") });

    expect(status).toBe(403);
    expect(body["detail"]).toBe(
      `${identity.host} did not sign you in: you, or the provider, have refused it (the person has refused).`,
    );
  });

  it("takes a code once", async () => {
    const { verifier, flow, url } = await begin();
    const query = await visit(url, "ada");
    await finish({ verifier, flow, query });

    const { status, body } = await finish({ verifier, flow, query });

    expect([status, body["code"]]).toEqual([400, "sign_in_expired"]);
  });

  it("takes no code that belongs to another sign-in", async () => {
    const first = await begin();
    const second = await begin();
    const query = await visit(second.url, "ada");

    const { status, body } = await finish({ verifier: first.verifier, flow: first.flow, query });

    expect([status, body["code"]]).toEqual([400, "sign_in_refused"]);
  });

  it("takes no code of another sign-in under this one's state", async () => {
    const first = await begin();
    const second = await begin();
    const query = new URLSearchParams(await visit(second.url, "ben"));
    query.set("state", String(first.begun["state"]));

    const { verifier, flow } = first;
    const { status, body } = await finish({ verifier, flow, query: `?${query}` });

    expect([status, body["code"]]).toEqual([400, "sign_in_expired"]);
  });

  it("is finished only by the program that has begun it", async () => {
    const { flow, url } = await begin();
    const query = await visit(url, "ada");

    const { status } = await finish({ flow, query, verifier: makeSecret().verifier });

    expect(status).toBe(403);
  });

  it("expires after ten minutes", async () => {
    const { verifier, flow, url } = await begin();
    const query = await visit(url, "ada");
    bench.clock.aheadMs = 600_001;

    const { status, body } = await finish({ verifier, flow, query });

    expect([status, body["code"]]).toEqual([400, "sign_in_expired"]);
  });

  it.each([
    "https://evil.example/callback",
    "http://evil.example:8250/callback",
    "http://127.0.0.1.evil.example:8250/callback",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:8250/",
    "http://user@127.0.0.1:8250/callback",
    "http://127.0.0.1:8250/callback?next=1",
    "http://0.0.0.0:8250/callback",
    "javascript:alert(1)",
  ])("begins none that goes back to %s", async (uri) => {
    const body = { redirect_uri: uri, challenge: makeSecret().challenge };

    expect((await bench.call("/sign-in/begin", { body })).status).toBe(400);
  });

  it.each([
    ["http://localhost:8250/callback", 200],
    ["http://127.0.0.1:8250/callback", 200],
    ["http://[::1]:8250/callback", 400],
    ["http://127.0.0.2:8250/callback", 400],
  ])("goes back to this machine by its usual names alone: %s", async (uri, status) => {
    const body = { redirect_uri: uri, challenge: makeSecret().challenge };

    expect((await bench.call("/sign-in/begin", { body })).status).toBe(status);
  });

  it("is limited for each address", async () => {
    const statuses = new Set<number>();
    for (let n = 0; n < 61; n += 1) {
      const body = { redirect_uri: redirectUri, challenge: makeSecret().challenge };
      statuses.add((await bench.call("/sign-in/begin", { body })).status);
    }

    expect([...statuses]).toEqual([200, 429]);
  });
});

describe("a session of the command line", () => {
  it("says whose it is, as a token does", async () => {
    const bearer = bearerOf(await signIn("ada"));

    const own = await bench.call("/sign-in/session", { bearer, method: "GET" });
    const shared = await bench.call("/sign-in/session", { bearer: "shared", method: "GET" });
    const none = await bench.call("/sign-in/session", { bearer: "vds_abc", method: "GET" });

    expect(own.body).toMatchObject({ actor: "ada@example.com", by: "sign-in" });
    expect(shared.body).toMatchObject({ actor: "ingress-token", by: "token", ends_at: null });
    expect(none.status).toBe(401);
  });

  it("ends by signing out, in this process and in the others", async () => {
    const bearer = bearerOf(await signIn("ada"));
    const { logouts } = bench.signIn;
    const other = await startSignInBench({ environment: environmentOf(), logouts });
    onTestFinished(() => other.stop());
    const before = await other.call(statusPath, { bearer, body: {} });

    const out = await bench.call("/sign-in/session", { bearer, method: "DELETE" });
    const after = [bench, other].map(({ call }) => call(statusPath, { bearer, body: {} }));

    expect([before.status, out.status]).toEqual([200, 204]);
    expect((await Promise.all(after)).map(({ status }) => status)).toEqual([401, 401]);
  });

  it("ends by signing out for the call that waits too, which disconnects", async () => {
    const bearer = bearerOf(await signIn("ada"));
    const body = { image: "vedette/sentinel:v2" };
    const waiting = bench.call(rolloutPath, { bearer, body }).catch((error: Error) => error);
    const other = bench.call(rolloutPath, { bearer: "shared", body }).catch(() => "disconnected");
    await waitFor(async () => bench.actors.length === 2, { withinMs: 5_000, what: "both calls" });

    await bench.call("/sign-in/session", { bearer, method: "DELETE" });

    expect(await waiting).toMatchObject({ message: "fetch failed" });
    expect(await Promise.race([other, "still waits"])).toBe("still waits");
  });

  it("ends after its hours", async () => {
    const bearer = bearerOf(await signIn("ada"));
    bench.clock.aheadMs = 12 * 3_600_000 + 1;

    expect((await bench.call(statusPath, { bearer, body: {} })).status).toBe(401);
  });

  it("ends when the settings change that gave its roles, and lasts over a restart without a change", async () => {
    const bearer = bearerOf(await signIn("ada"));
    const same = await startSignInBench({ environment: environmentOf() });
    const roles = { VEDETTE_CONTROL__OIDC__ROLES: "release-managers=read" };
    const changed = await startSignInBench({ environment: { ...environmentOf(), ...roles } });
    onTestFinished(async () => {
      await Promise.all([same.stop(), changed.stop()]);
    });

    const statuses = [
      (await same.call(statusPath, { bearer, body: {} })).status,
      (await changed.call(statusPath, { bearer, body: {} })).status,
    ];

    expect(statuses).toEqual([200, 401]);
  });

  it("goes on while the provider is away", async () => {
    const mortal = await startIdentityProvider({ people });
    const environment = { ...environmentOf(), ...mortal.environment };
    const own = await startSignInBench({ environment });
    onTestFinished(() => own.stop());
    const kept = bench;
    bench = own;
    const bearer = bearerOf(await signIn("ada"));
    bench = kept;
    await mortal.stop();

    expect((await own.call(statusPath, { bearer, body: {} })).status).toBe(200);
  });

  it("goes on while Postgres is away, where a sign-out counts at once", async () => {
    const bearer = bearerOf(await signIn("ada"));
    const database = await openAwayDatabase();
    const logouts = createLogouts(database, silent);
    const own = await startSignInBench({ environment: environmentOf(), logouts });
    onTestFinished(() => own.stop());

    const before = await own.call(statusPath, { bearer, body: {} });
    const out = await own.call("/sign-in/session", { bearer, method: "DELETE" });
    const after = await own.call(statusPath, { bearer, body: {} });

    expect([before, out, after].map(({ status }) => status)).toEqual([200, 204, 401]);
  });

  it("is not made while Postgres is away, which the refusal says", async () => {
    const names = createNames(await openAwayDatabase(), silent);
    await bench.stop();
    bench = await startSignInBench({ environment: environmentOf(), names });

    const { status, body } = await signIn("ada");

    expect([status, body["code"]]).toEqual([503, "sign_in_unavailable"]);
    expect(body["detail"]).toMatch(/Postgres, which has the names .* does not answer/);
    await bench.stop();
  });
});
