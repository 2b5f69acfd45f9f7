/** Signing in by a code that is entered elsewhere, with a real identity provider. */
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { enterCode } from "../../../support/http/form-browser.ts";
import {
  makeSecret,
  type SignInBench,
  startSignInBench,
  statusPath,
} from "../../../support/program/sign-in-bench.ts";
import {
  type IdentityProvider,
  startIdentityProvider,
} from "../../../support/servers/identity-provider.ts";

const people = {
  ada: { email: "ada@example.com", email_verified: true, groups: ["release-managers"] },
  nobody: { email: "nobody@example.com", email_verified: true },
};

let identity: IdentityProvider;
let bench: SignInBench;

beforeAll(async () => {
  identity = await startIdentityProvider({ people });
});

afterAll(() => identity.stop());

beforeEach(async () => {
  const roles = { VEDETTE_CONTROL__OIDC__ROLES: "release-managers=read,operate" };
  bench = await startSignInBench({ environment: { ...identity.environment, ...roles } });
  onTestFinished(() => bench.stop());
});

async function begin() {
  const { verifier, challenge } = makeSecret();
  const { body } = await bench.call("/sign-in/device", { body: { challenge } });
  return { verifier, flow: String(body["flow"]), url: String(body["complete_uri"]), begun: body };
}

const poll = (flow: string, verifier: string) => {
  // The time that a command line waits before it asks again.
  bench.clock.aheadMs += 6_000;
  return bench.call("/sign-in/device/poll", { body: { flow, verifier } });
};

it("waits for the person, and makes a session once the code was entered", async () => {
  const { verifier, flow, url, begun } = await begin();
  const before = await poll(flow, verifier);
  await enterCode("ada", url);
  const after = await poll(flow, verifier);
  const signedIn = after.body["signed_in"] as Record<string, unknown>;
  const bearer = String(signedIn["token"]);

  expect(begun).toMatchObject({
    provider: identity.host,
    user_code: expect.stringMatching(/^[A-Z]{4}-[A-Z]{4}$/),
    verification_uri: `${identity.issuer}/device`,
    interval: 5,
    expires_in: 600,
  });
  expect(before).toMatchObject({ status: 200, body: { signed_in: null } });
  expect(signedIn).toMatchObject({ actor: "ada@example.com", roles: ["read", "operate"] });
  expect((await bench.call(statusPath, { bearer, body: {} })).status).toBe(200);
  expect(bench.lines).toContainEqual(
    expect.objectContaining({ message: "signed in", actor: "ada@example.com", how: "device" }),
  );
});

it("refuses who has no role, and a code that is used", async () => {
  const { verifier, flow, url } = await begin();
  await enterCode("nobody", url);

  const refused = await poll(flow, verifier);
  const again = await poll(flow, verifier);

  expect([refused.status, refused.body["code"]]).toEqual([403, "forbidden"]);
  expect([again.status, again.body["code"]]).toEqual([400, "sign_in_expired"]);
});

it("is polled only by the program that has begun it", async () => {
  const { flow, url } = await begin();
  await enterCode("ada", url);

  expect((await poll(flow, makeSecret().verifier)).status).toBe(403);
});

it("does not ask the provider more often than that allows", async () => {
  const { verifier, flow } = await begin();
  await poll(flow, verifier);
  const asked = identity.paths.length;

  const body = { flow, verifier };
  const soon = await bench.call("/sign-in/device/poll", { body });

  expect(soon).toMatchObject({ status: 200, body: { signed_in: null } });
  expect(identity.paths.length).toBe(asked);
});

it("expires", async () => {
  const { verifier, flow } = await begin();
  bench.clock.aheadMs = 600_001;

  const { status, body } = await poll(flow, verifier);

  expect([status, body["code"]]).toEqual([400, "sign_in_expired"]);
});
