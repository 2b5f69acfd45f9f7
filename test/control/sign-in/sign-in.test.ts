/** Sessions and tokens of one person, and what ends a session, with a provider of the test's. */
import { describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import type { Names } from "#control/sign-in/names.ts";
import type { Provider } from "#control/sign-in/provider.ts";
import { createSignIn } from "#control/sign-in/sign-in.ts";
import { unknownAccount } from "#kernel/actor.ts";
import { createLog } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import { createMemoryNames } from "../../support/program/memory-names.ts";
import { createMemoryLogouts } from "../../support/program/sign-in-bench.ts";

const unasked = () => Promise.reject(new Error("not asked"));

const provider: Provider = {
  host: "login.example.com",
  start: unasked,
  finish: unasked,
  startDevice: unasked,
  pollDevice: unasked,
};

const environment = {
  VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
  VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
  VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read,operate,approve",
  VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "Ada@example.com",
  VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: "ab".repeat(32),
  VEDETTE_CONTROL__OPERATORS__BEN__TOKEN: "cd".repeat(32),
};

function start(changes: Partial<Names> = {}) {
  const { oidc, operators } = readConfig({ environment }).control;
  const signIn = createSignIn({
    oidc,
    operators,
    provider,
    names: { ...createMemoryNames(), ...changes },
    secret: Buffer.alloc(32, 7),
    logouts: createMemoryLogouts(),
    log: createLog({ level: "silent", format: "json" }),
  });
  const open = async (sub: string, email: string) => {
    const claims = { sub, email, email_verified: true };
    const by = { remote: "192.0.2.1", how: "console" } as const;
    return signIn.core.openSession(claims, by);
  };
  return { signIn, open };
}

const tokenOf = (actor: string): Caller => ({ actor, roles: ["read"] });

describe("a session", () => {
  it("ends in the console and on the command line when its account becomes an operator's", async () => {
    const { signIn, open } = start();
    const first = await open("1", "ada.old@example.com");
    const before = await signIn.console.find(first);

    const second = await open("1", "ada@example.com");

    expect([before?.actor, second.actor]).toEqual(["ada.old@example.com", "ada"]);
    expect(await signIn.console.find(first)).toBeUndefined();
    expect(await signIn.find(signIn.bearers.seal(first))).toBeUndefined();
    expect(await signIn.console.find(second)).toMatchObject({ actor: "ada" });
  });

  it("ends when its name goes to another account", async () => {
    const { signIn, open } = start();
    const first = await open("1", "ada@example.com");

    const second = await open("2", "ada@example.com");

    expect(await signIn.console.find(first)).toBeUndefined();
    expect(await signIn.console.find(second)).toMatchObject({ actor: "ada" });
  });

  it("goes on when its person signs in elsewhere under a new address", async () => {
    const { signIn, open } = start();
    const first = await open("1", "cem@example.com");

    await open("1", "cem.b@example.com");

    expect(await signIn.console.find(first)).toMatchObject({ actor: "cem@example.com" });
  });

  it.each<[string, () => Promise<never>]>([
    ["refuses", () => Promise.reject(new Error("no database"))],
    ["hangs", () => new Promise(() => {})],
  ])("goes on while Postgres %s", async (_how, find) => {
    const { open } = start();
    const session = await open("1", "cem@example.com");

    const found = await start({ find }).signIn.console.find(session);

    expect(found).toMatchObject({ actor: "cem@example.com" });
  });
});

const ofRow = [expect.stringMatching(/^row:/), expect.stringMatching(/^row:/)];

describe("an operator's token", () => {
  it("is of the account that signs in as this operator", async () => {
    const { signIn, open } = start();
    const session = await open("1", "ada@example.com");

    const { accounts } = await signIn.link(tokenOf("ada"));

    expect(accounts).toHaveLength(1);
    expect((await signIn.console.find(session))?.accounts).toEqual([...(accounts ?? []), ...ofRow]);
  });

  it("is of the account that had the operator's address as its name before the link", async () => {
    const names = createMemoryNames();
    await names.take({ issuer: "https://login.example.com/", subject: "1" }, "ada@example.com");
    const { signIn, open } = start(names);

    const before = await signIn.link(tokenOf("ada"));
    const session = await open("1", "ada@example.com");

    const { accounts } = (await signIn.console.find(session)) ?? {};
    expect(accounts).toEqual([...(before.accounts ?? []), ...ofRow]);
  });

  it.each(["ben", "ingress-token", "constructor"])("of %s has no account", async (actor) => {
    const { signIn, open } = start();
    await open("1", `${actor}.x@example.com`);

    expect((await signIn.link(tokenOf(actor))).accounts).toBeUndefined();
  });

  it("is accepted while Postgres does not answer, as of an account that nobody knows", async () => {
    const holder = () => Promise.reject(new Error("no database"));

    const caller = await start({ holder }).signIn.link(tokenOf("ada"));

    expect(caller).toEqual({ ...tokenOf("ada"), accounts: [unknownAccount] });
  });
});
