/** The settings of signing in at an identity provider. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { tempDir } from "../support/temp-dir.ts";

const on = {
  VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com/realms/team",
  VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
};
const token = "ab".repeat(32);

const controlOf = (environment: Record<string, string>) => readConfig({ environment }).control;

describe("control.oidc", () => {
  it("is off by default", () => {
    expect(controlOf({}).oidc).toEqual({
      issuer: "",
      client_id: "",
      client_secret: "",
      scopes: ["openid", "email", "profile"],
      name_claim: "email",
      roles_claim: "groups",
      roles: {},
      default_roles: [],
      session_hours: 12,
    });
  });

  it("is read from a file as from the environment", () => {
    const file = path.join(tempDir(), "vedette.toml");
    writeFileSync(
      file,
      `[control.oidc]
issuer = "https://login.example.com/realms/team"
client_id = "vedette"
scopes = ["openid", "groups"]
default_roles = ["read"]

[control.oidc.roles]
"Release Managers" = ["read", "operate"]
leads = ["approve"]
`,
    );
    const fromFile = readConfig({ file, environment: {} }).control.oidc;

    const fromEnvironment = controlOf({
      ...on,
      VEDETTE_CONTROL__OIDC__SCOPES: "openid groups",
      VEDETTE_CONTROL__OIDC__ROLES: "Release Managers=read,operate; leads=approve",
      VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
    }).oidc;

    expect(fromFile).toEqual(fromEnvironment);
    expect(fromFile.roles).toEqual({ "Release Managers": ["read", "operate"], leads: ["approve"] });
  });

  it.each(["http://127.0.0.1:9000", "http://localhost:9000", "http://[::1]:9000"])(
    "takes %s, which is on this machine",
    (issuer) => {
      const { oidc } = controlOf({ ...on, VEDETTE_CONTROL__OIDC__ISSUER: issuer });

      expect(oidc.issuer).toBe(issuer);
    },
  );

  it.each([
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "http://login.example.com" }, "must be an https address"],
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "http://0.0.0.0:9000" }, "must be an https address"],
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "https://a.example/?x=1" }, "must be an https address"],
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "https://u:p@a.example" }, "must be an https address"],
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "login.example.com" }, "control.oidc.issuer"],
    [{ VEDETTE_CONTROL__OIDC__CLIENT_ID: "" }, "needs both issuer and client_id"],
    [{ VEDETTE_CONTROL__OIDC__ISSUER: "" }, "needs both issuer and client_id"],
    [{ VEDETTE_CONTROL__OIDC__SCOPES: "email" }, "must have openid"],
    [{ VEDETTE_CONTROL__OIDC__ROLES: "managers=admin" }, "control.oidc.roles.managers"],
    [{ VEDETTE_CONTROL__OIDC__ROLES: "managers" }, "control.oidc.roles"],
    [{ VEDETTE_CONTROL__OIDC__SESSION_HOURS: "25" }, "control.oidc.session_hours"],
    [{ VEDETTE_CONTROL__OIDC__SESSION_HOURS: "0" }, "control.oidc.session_hours"],
    [{ VEDETTE_CONTROL__OIDC__CLIENT_SECRETE: "the-secret" }, "control.oidc"],
  ])("refuses %j", (changes, words) => {
    expect(() => controlOf({ ...on, ...changes })).toThrow(words);
  });

  it("does not repeat the secret in a fault", () => {
    const secret = {
      VEDETTE_CONTROL__OIDC__CLIENT_SECRET: "the-secret",
      VEDETTE_CONTROL__OIDC__ISSUER: "x",
    };

    expect(() => controlOf({ ...on, ...secret })).toThrow(/^(?!.*the-secret)/);
  });
});

describe("sign_in of an operator", () => {
  const row = (name: string, fields: Record<string, string>) =>
    Object.fromEntries(
      Object.entries(fields).map(([field, value]) => [
        `VEDETTE_CONTROL__OPERATORS__${name}__${field}`,
        value,
      ]),
    );

  it("needs no token", () => {
    const { operators } = controlOf({
      ...on,
      ...row("ADA", { SIGN_IN: "ada@example.com", ROLES: "read" }),
    });

    expect(operators).toEqual({ ada: { sign_in: "ada@example.com", roles: ["read"] } });
  });

  it.each([
    ["neither token nor sign_in", row("ADA", { ROLES: "read" }), "needs a token, or sign_in"],
    [
      "the same person twice",
      {
        ...row("ADA", { SIGN_IN: "ada@example.com" }),
        ...row("BEN", { SIGN_IN: "Ada@example.com" }),
      },
      "control.operators.ben.sign_in: is another operator, or theirs",
    ],
    [
      "another operator's name",
      { ...row("ADA", { SIGN_IN: "ben" }), ...row("BEN", { TOKEN: token }) },
      "control.operators.ada.sign_in: is another operator, or theirs",
    ],
  ])("is refused with %s", (_what, rows, words) => {
    expect(() => controlOf({ ...on, ...rows })).toThrow(words);
  });

  it("without a provider is refused only for who has no token", () => {
    const kept = controlOf(row("ADA", { SIGN_IN: "ada@example.com", TOKEN: token }));

    expect(kept.operators["ada"]?.token).toBe(token);
    expect(() => controlOf(row("ADA", { SIGN_IN: "ada@example.com" }))).toThrow(
      "control.operators.ada.sign_in: needs control.oidc.issuer",
    );
  });
});
