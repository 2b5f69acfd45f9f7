/** Where a real provider's claims come from, and how Vedette proves itself to it. */
import { expect, it, onTestFinished } from "vitest";
import { signInAs } from "../../../support/http/form-browser.ts";
import { makeSecret, startSignInBench } from "../../../support/program/sign-in-bench.ts";
import { startIdentityProvider } from "../../../support/servers/identity-provider.ts";

const people = {
  ada: {
    email: "ada@example.com",
    email_verified: true,
    preferred_username: "Ada",
    realm_access: { roles: ["operators"] },
  },
};

const redirectUri = "http://127.0.0.1:50505/callback";

type Options = { isWholeIdToken?: boolean; isPublic?: boolean; takesPost?: boolean };

async function signIn(options: Options, environment: Record<string, string> = {}) {
  const identity = await startIdentityProvider({ people, ...options });
  const bench = await startSignInBench({
    environment: {
      ...identity.environment,
      VEDETTE_CONTROL__OIDC__ROLES_CLAIM: "realm_access.roles",
      VEDETTE_CONTROL__OIDC__ROLES: "operators=operate",
      ...environment,
    },
  });
  onTestFinished(async () => {
    await bench.stop();
    await identity.stop();
  });
  const { verifier, challenge } = makeSecret();
  const begin = { body: { redirect_uri: redirectUri, challenge } };
  const { body: begun } = await bench.call("/sign-in/begin", begin);
  const address = String(begun["authorization_url"]);
  const { url } = await signInAs("ada", address, { stopAt: redirectUri });
  const finish = { body: { flow: begun["flow"], verifier, query: new URL(url).search } };
  const { body } = await bench.call("/sign-in/finish", finish);
  return { actor: body["actor"], roles: body["roles"], asked: identity.paths };
}

it("reads the UserInfo endpoint when the ID token lacks the claims", async () => {
  const { actor, roles, asked } = await signIn({});

  expect({ actor, roles }).toEqual({ actor: "ada@example.com", roles: ["operate"] });
  expect(asked).toContain("/me");
});

it("does not when it has them", async () => {
  const { actor, roles, asked } = await signIn({ isWholeIdToken: true });

  expect({ actor, roles }).toEqual({ actor: "ada@example.com", roles: ["operate"] });
  expect(asked).not.toContain("/me");
});

it("needs no secret of a public client", async () => {
  expect(await signIn({ isPublic: true })).toMatchObject({ actor: "ada@example.com" });
});

it("sends the secret as the provider takes it", async () => {
  expect(await signIn({ takesPost: true })).toMatchObject({ actor: "ada@example.com" });
});

it("takes the name of another claim", async () => {
  const claim = { VEDETTE_CONTROL__OIDC__NAME_CLAIM: "preferred_username" };

  expect(await signIn({}, claim)).toMatchObject({ actor: "ada" });
});

it("takes name and roles of the operator who is linked", async () => {
  const row = {
    VEDETTE_CONTROL__OPERATORS__DORA__SIGN_IN: "ada@example.com",
    VEDETTE_CONTROL__OPERATORS__DORA__ROLES: "read,approve",
  };

  expect(await signIn({}, row)).toMatchObject({ actor: "dora", roles: ["read", "approve"] });
});
