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
