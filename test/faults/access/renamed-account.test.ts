/** One person under two names of an operator's row: by its token, and by signing in at the identity provider. */
import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";
import type { Provider } from "#control/sign-in/provider.ts";
import { createSignIn } from "#control/sign-in/sign-in.ts";
import { createIdentify } from "#control/token.ts";
import { createLog } from "#kernel/log.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";
import { createMemoryLogouts } from "../../support/program/sign-in-bench.ts";

/** Sign-ins of one installation, whose row has this name at this start. */
function startAs(row: string, names = createMemoryNames()) {
  const environment = {
    VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
    VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
    VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read,operate,approve",
    [`VEDETTE_CONTROL__OPERATORS__${row}__SIGN_IN`]: "ada@example.com",
    [`VEDETTE_CONTROL__OPERATORS__${row}__TOKEN`]: createHash("sha256")
      .update("of-ada")
      .digest("hex"),
  };
  const { oidc, operators } = readConfig({ environment }).control;
  const signIn = createSignIn({
    ...{ oidc, operators, names, provider: { host: "login.example.com" } as Provider },
    ...{ secret: Buffer.alloc(32, 7), logouts: createMemoryLogouts() },
    log: createLog({ level: "silent", format: "json" }),
  });
  const bySession = async (sub: string, email: string) => {
    const claims = { sub, email, email_verified: true };
    const session = await signIn.core.openSession(claims, { remote: "a", how: "console" });
    return (await signIn.console.find(session))?.accounts ?? [];
  };
  const byToken = async () => {
    const caller = createIdentify({ ingressToken: "shared", operators })("of-ada");
    return (caller && (await signIn.link(caller)).accounts) ?? [];
  };
  return {
    names,
    session: () => bySession("1", "ada@example.com"),
    another: () => bySession("2", "ben@example.com"),
    token: byToken,
  };
}

it.each([
  ["session", "token"],
  ["token", "session"],
  ["session", "session"],
  ["token", "token"],
] as const)("is the same person by %s before and %s after", async (first, second) => {
  const before = startAs("ADA");
  const starter = await before[first]();
  const after = startAs("LOVELACE", before.names);

  const approver = await after[second]();
  const other = await after.another();

  expect(starter.filter((one) => approver.includes(one))).not.toEqual([]);
  expect(starter.filter((one) => other.includes(one))).toEqual([]);
});

/** Sessions of an account without a row, which has this address at the provider. */
function accountsOf() {
  const environment = {
    VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
    VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
    VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read,operate,approve",
    VEDETTE_CONTROL__OIDC__SESSION_HOURS: "24",
  };
  const clock = { nowMs: Date.UTC(2026, 0, 1) };
  const { oidc, operators } = readConfig({ environment }).control;
  const signIn = createSignIn({
    ...{ oidc, operators, provider: { host: "login.example.com" } as Provider },
    ...{ names: createMemoryNames(), logouts: createMemoryLogouts() },
    ...{ secret: Buffer.alloc(32, 7), nowMs: () => clock.nowMs },
    log: createLog({ level: "silent", format: "json" }),
  });
  const open = async (email: string) => {
    const claims = { sub: "1", email, email_verified: true };
    const session = await signIn.core.openSession(claims, { remote: "a", how: "command line" });
    return signIn.bearers.seal(session);
  };
  return { open, find: async (bearer: string) => (await signIn.find(bearer))?.caller, clock };
}

it("an account whose name has changed at the provider is one person before and after its sign-in", async () => {
  const { open, find } = accountsOf();
  const earlier = await open("ada@example.com");

  const later = await open("lovelace@example.com");

  expect(await find(later)).toEqual(await find(earlier));
  expect((await find(earlier))?.accounts).toHaveLength(1);
});

it("a session of an account whose name has changed at the provider ends after a day at most", async () => {
  const { open, find, clock } = accountsOf();
  const bearer = await open("ada@example.com");

  clock.nowMs += 24 * 3_600_000;

  expect(await find(bearer)).toBeUndefined();
});
