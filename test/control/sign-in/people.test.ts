/** Sessions of people who have signed in at the identity provider. */
import { describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { createBearers, createPeople } from "#control/sign-in/people.ts";
import type { Role } from "#kernel/roles.ts";

const base: Record<string, string> = {
  VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
  VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
  VEDETTE_CONTROL__OIDC__CLIENT_SECRET: "a secret",
  VEDETTE_CONTROL__OIDC__ROLES: "managers=read,operate",
  VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "ada@example.com",
  VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "read",
  VEDETTE_CONTROL__OPERATORS__BEN: "ab".repeat(32),
};

const secret = Buffer.alloc(32, 3);

const peopleOf = (changes: Record<string, string> = {}, by = secret) =>
  createPeople({ ...readConfig({ environment: { ...base, ...changes } }).control, secret: by });

const roles: Role[] = ["read"];
const nowMs = Date.parse("2026-11-24T08:00:00Z");
const linked = { actor: "ada", roles };
const free = { actor: "cem@example.com", roles };

describe("a session", () => {
  it.each([
    [
      "a linked operator",
      linked,
      { actor: "ada", roles, accounts: [expect.stringMatching(/^row:/)] },
    ],
    ["anybody else", free, { actor: "cem@example.com", roles, grantedBy: "control.oidc" }],
  ])("of %s lasts as long as nothing changes, also in another process", (_who, caller, found) => {
    const session = peopleOf().start(caller, nowMs);

    expect(peopleOf().find(session)).toEqual(found);
  });

  it("lasts for session_hours", () => {
    const people = peopleOf({ VEDETTE_CONTROL__OIDC__SESSION_HOURS: "8" });

    expect(people.start(free, nowMs).endsAtMs).toBe(nowMs + 8 * 3_600_000);
  });

  it.each([
    ["the issuer", { ISSUER: "https://other.example.com" }],
    ["the client", { CLIENT_ID: "other" }],
    ["the name's claim", { NAME_CLAIM: "sub" }],
    ["the roles' claim", { ROLES_CLAIM: "roles" }],
    ["the roles", { ROLES: "managers=read" }],
    ["the default roles", { DEFAULT_ROLES: "read" }],
    ["its hours", { SESSION_HOURS: "1" }],
  ])("ends with a change of %s", (_what, changes) => {
    const changed = Object.entries(changes).map(([name, value]) => [
      `VEDETTE_CONTROL__OIDC__${name}`,
      value,
    ]);
    const after = peopleOf(Object.fromEntries(changed));

    const found = [linked, free].map((caller) => after.find(peopleOf().start(caller, nowMs)));

    expect(found).toEqual([undefined, undefined]);
  });

  it.each([
    ["the client's secret", { VEDETTE_CONTROL__OIDC__CLIENT_SECRET: "another" }],
    ["another operator", { VEDETTE_CONTROL__OPERATORS__BEN: "cd".repeat(32) }],
  ])("outlasts a change of %s", (_what, changes) => {
    const after = peopleOf(changes);

    const found = [linked, free].map((caller) => after.find(peopleOf().start(caller, nowMs)));

    expect(found).not.toContain(undefined);
  });

  it.each([
    ["the row's roles", linked, { VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "approve" }],
    ["the row's link", linked, { VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "a@example.com" }],
    ["the row's token", linked, { VEDETTE_CONTROL__OPERATORS__ADA__TOKEN: "cd".repeat(32) }],
    ["a new link to it", free, { VEDETTE_CONTROL__OPERATORS__CEM__SIGN_IN: "cem@example.com" }],
  ])("ends with a change of %s, and nobody else's does", (_what, caller, changes) => {
    const other = caller === linked ? free : linked;
    const after = peopleOf(changes);

    expect(after.find(peopleOf().start(caller, nowMs))).toBeUndefined();
    expect(after.find(peopleOf().start(other, nowMs))).toBeDefined();
  });

  it.each([
    ["another name", { actor: "ben@example.com" }],
    ["the name of an operator", { actor: "ada" }],
    ["more roles", { roles: ["read", "approve"] as Role[] }],
    ["a later end", { endsAtMs: nowMs * 2 }],
    ["another id, as after signing out", { id: "another" }],
    ["another account", { subject: "2" }],
    ["no mark", { mark: "" }],
  ])("is nobody's with %s, whoever can sign the console's cookies", (_what, changes) => {
    const session = peopleOf().start(free, nowMs);

    expect(peopleOf().find({ ...session, ...changes })).toBeUndefined();
  });

  it("has the account of its person, whatever the name, and another one at another provider", () => {
    const accountsOf = (person: { actor: string; subject: string }, changes = {}) => {
      const people = peopleOf(changes);
      return people.find(people.start({ ...person, roles }, nowMs))?.accounts;
    };
    const elsewhere = { VEDETTE_CONTROL__OIDC__ISSUER: "https://other.example.com" };

    const [account] = accountsOf({ actor: "ada", subject: "1" }) ?? [];

    expect(account).toMatch(/^[\w-]{43}$/);
    expect(accountsOf({ actor: "a.old@example.com", subject: "1" })).toEqual([account]);
    expect(accountsOf({ actor: "ada", subject: "2" })).not.toEqual([account]);
    expect(accountsOf({ actor: "ada", subject: "1" }, elsewhere)).not.toEqual([account]);
  });

  it("is not made by another secret", () => {
    const session = peopleOf({}, Buffer.alloc(32, 4)).start(free, nowMs);

    expect(peopleOf().find(session)).toBeUndefined();
  });

  it("ends when its name becomes that of an operator with a token", () => {
    const dora = { actor: "dora", roles };
    const after = peopleOf({ VEDETTE_CONTROL__OPERATORS__DORA: "ef".repeat(32) });

    expect(after.find(peopleOf().start(dora, nowMs))).toBeUndefined();
  });
});

describe("a bearer", () => {
  const session = peopleOf().start(free, nowMs);
  const bearers = createBearers(Buffer.alloc(32, 1));

  it("has its session in it, until that ends", () => {
    const bearer = bearers.seal(session);

    expect(bearer).toMatch(/^vds_[\w-]+$/);
    expect(bearers.open(bearer, nowMs)).toEqual(session);
    expect(bearers.open(bearer, session.endsAtMs)).toBeUndefined();
  });

  it("is nothing without its prefix, or by another secret", () => {
    const bearer = bearers.seal(session);

    expect(bearers.open(bearer.slice("vds_".length), nowMs)).toBeUndefined();
    expect(createBearers(Buffer.alloc(32, 2)).open(bearer, nowMs)).toBeUndefined();
  });
});
