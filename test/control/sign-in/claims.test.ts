/** Who somebody is by the claims of the identity provider. */
import { describe, expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { type Claims, identifyPerson, type PeopleSettings } from "#control/sign-in/claims.ts";

const token = "ab".repeat(32);

function settingsOf(environment: Record<string, string> = {}): PeopleSettings {
  return readConfig({
    environment: {
      VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
      VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
      VEDETTE_CONTROL__OIDC__ROLES: "managers=operate,read;leads=approve;platform=notify",
      VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "Ada@Example.com",
      VEDETTE_CONTROL__OPERATORS__ADA__ROLES: "approve",
      VEDETTE_CONTROL__OPERATORS__BEN: token,
      ...environment,
    },
  }).control;
}

const settings = settingsOf();

const cem: Claims = {
  sub: "1",
  email: "cem@example.com",
  email_verified: true,
  groups: ["managers"],
};

const callerOf = (claims: Claims, by = settings, held?: string) => {
  const identified = identifyPerson(claims, by, held);
  return "caller" in identified ? identified.caller : identified.refusal.code;
};

describe("identifyPerson", () => {
  it("answers the e-mail address and the roles of the groups", () => {
    expect(callerOf(cem)).toEqual({
      actor: "cem@example.com",
      roles: ["read", "operate"],
      grantedBy: "control.oidc",
    });
  });

  it.each([
    [["managers"], ["read", "operate"]],
    [
      ["leads", "managers", "others"],
      ["read", "operate", "approve"],
    ],
    [["platform", "platform"], ["notify"]],
    ["leads", ["approve"]],
    [["leads", 7, null, {}, ["managers"]], ["approve"]],
    [[...Array(4_999).fill("x"), "leads"], ["approve"]],
  ])("groups of %j give %j", (groups, roles) => {
    expect(callerOf({ ...cem, groups })).toMatchObject({ roles });
  });

  it.each([
    [undefined],
    [null],
    [[]],
    ["others"],
    ["Managers"],
    ["managers,leads"],
    [["__proto__", "constructor", "toString"]],
    [7],
    [true],
    [{ 0: "managers", length: 1 }],
    [[["managers"]]],
    [[...Array(5_000).fill("x"), "managers"]],
  ])("groups of %j give no role, and a refusal that says which claim and settings", (groups) => {
    const identified = identifyPerson({ ...cem, groups }, settings);

    expect(identified).toEqual({
      refusal: {
        code: "no_role",
        name: "cem@example.com",
        detail: expect.stringMatching(
          /^cem@example\.com has no role here: .*"groups".*control\.oidc\.roles.*default_roles/,
        ),
      },
    });
  });

  it("gives the default roles to whom no group gives one, and to nobody else", () => {
    const open = settingsOf({ VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read" });

    expect(callerOf({ ...cem, groups: [] }, open)).toMatchObject({ roles: ["read"] });
    expect(callerOf({ ...cem, groups: "platform" }, open)).toMatchObject({ roles: ["notify"] });
  });

  it.each([
    ["CEM@Example.COM", "cem@example.com"],
    ["ada@example.com", "ada"],
    ["ADA@EXAMPLE.COM", "ada"],
  ])("knows %s as %s", (email, actor) => {
    expect(callerOf({ ...cem, email })).toMatchObject({ actor });
  });

  it("gives a linked operator the roles of the row, whatever the groups are", () => {
    const claims = { ...cem, email: "ada@example.com", groups: ["managers"] };

    expect(callerOf(claims)).toEqual({ actor: "ada", roles: ["approve"] });
  });

  it.each([
    ["no address", { email: undefined }, "no_name"],
    ["an empty address", { email: "" }, "no_name"],
    ["spaces", { email: "  " }, "no_name"],
    ["a number", { email: 7 }, "no_name"],
    ["a list", { email: ["cem@example.com"] }, "no_name"],
    ["an object", { email: { toString: "cem" } }, "no_name"],
    ["null", { email: null }, "no_name"],
    ["an unverified address", { email_verified: false }, "unverified_email"],
    ["one of which nothing is said", { email_verified: undefined }, "unverified_email"],
    ["one that is verified as text", { email_verified: "true" }, "unverified_email"],
    [
      "a linked one that is not verified",
      { email: "ada@example.com", email_verified: 1 },
      "unverified_email",
    ],
    ["a control character", { email: "cem@example.com\u0000" }, "unfit_name"],
    ["a line break", { email: "cem\n@example.com" }, "unfit_name"],
    ["an escape sequence", { email: "\u001b[2Jcem" }, "unfit_name"],
    ["a mark of text direction", { email: "cem\u202emoc" }, "unfit_name"],
    ["a space around it", { email: " cem@example.com" }, "unfit_name"],
    ["a lone surrogate", { email: "cem\ud800" }, "unfit_name"],
    ["a megabyte", { email: "c".repeat(1_000_000) }, "unfit_name"],
    ["more than 64 characters", { email: `${"c".repeat(60)}@example.com` }, "unfit_name"],
    ["a plus sign", { email: "cem+test@example.com" }, "unfit_name"],
    ["letters beyond ASCII", { email: "çem@example.com" }, "unfit_name"],
    ["the name of the ingress token", { email: "ingress-token" }, "unfit_name"],
    ["that of local callers", { email: "local-caller" }, "unfit_name"],
    ["that of Restate's console", { email: "Restate-Console" }, "unfit_name"],
    ["an operator's name", { email: "ben" }, "name_taken"],
    ["an operator's name in capitals", { email: "BEN" }, "name_taken"],
    ["the name of a linked operator", { email: "ada" }, "name_taken"],
  ])("refuses %s", (_what, changes, code) => {
    expect(callerOf({ ...cem, ...changes })).toBe(code);
  });

  it.each([
    ["another address", { email: "cem2@example.com" }],
    ["the name of an operator", { email: "ben" }],
    ["an address that is not verified", { email_verified: false }],
    ["an unfit address", { email: "cem+2@example.com" }],
    ["no address", { email: undefined }],
  ])("keeps the name that the account has, with the roles of the groups, for %s", (_what, now) => {
    expect(callerOf({ ...cem, ...now }, settings, "cem@example.com")).toEqual({
      actor: "cem@example.com",
      roles: ["read", "operate"],
      grantedBy: "control.oidc",
    });
  });

  it("gives a linked operator the name of the row, whatever name the account has", () => {
    expect(callerOf({ ...cem, email: "ada@example.com" }, settings, "cem@example.com")).toEqual({
      actor: "ada",
      roles: ["approve"],
    });
  });

  it("refuses an account that has an operator's name and is not linked to it now", () => {
    expect(identifyPerson({ ...cem, email: "ada2@example.com" }, settings, "ada")).toEqual({
      refusal: {
        code: "not_linked",
        name: "ada",
        detail: expect.stringContaining("set sign_in of control.operators.ada."),
      },
    });
  });

  it("takes no letter for another one that looks like it, or becomes it in lower case", () => {
    const kim = settingsOf({ VEDETTE_CONTROL__OPERATORS__KIM__SIGN_IN: "kim@example.com" });

    expect(callerOf({ ...cem, email: "\u212aim@example.com" }, kim)).toBe("unfit_name");
    expect(callerOf({ ...cem, email: "Kim@example.com" }, kim)).toMatchObject({ actor: "kim" });
  });

  it.each([
    [
      "o'brien@example.com",
      /other characters than a-z, 0-9, and after the first one also \. _ @ -\./,
    ],
    ["ada+x@example.com", /other characters than a-z/],
    [`${"c".repeat(60)}@example.com`, /64 characters at most/],
    ["ingress-token", /name of the ingress token/],
    ["cem\n@example.com", /unfit characters/],
  ])("says what is wrong with %j as a name, and that it can be linked", (email, why) => {
    const identified = identifyPerson({ ...cem, email }, settings);

    expect(identified).toMatchObject({ refusal: { detail: expect.stringMatching(why) } });
    expect(identified).toMatchObject({
      refusal: { detail: expect.stringMatching(/link it .*: sign_in of control\.operators\.$/) },
    });
  });

  it("does not repeat a hostile value in the refusal", () => {
    const identified = identifyPerson({ ...cem, email: "<script>\u001b[2J" }, settings);

    expect(JSON.stringify(identified)).not.toMatch(/script|u001b/);
  });

  it("takes the case of sub as it is, where linked operators may have any name", () => {
    const bySub = settingsOf({
      VEDETTE_CONTROL__OIDC__NAME_CLAIM: "sub",
      VEDETTE_CONTROL__OPERATORS__ADA__SIGN_IN: "auth0|AbC",
    });
    const known = ["auth0|AbC", "auth0|abc", "cem"].map((sub) => callerOf({ ...cem, sub }, bySub));

    expect(known).toEqual([
      { actor: "ada", roles: ["approve"] },
      "unfit_name",
      expect.objectContaining({ actor: "cem" }),
    ]);
  });

  it("reads claims by a whole name with dots, or else by a path", () => {
    const nested = settingsOf({ VEDETTE_CONTROL__OIDC__ROLES_CLAIM: "realm_access.roles" });
    const claims = { ...cem, realm_access: { roles: ["leads"] } };

    expect(callerOf(claims, nested)).toMatchObject({ roles: ["approve"] });
    expect(callerOf({ ...claims, "realm_access.roles": "platform" }, nested)).toMatchObject({
      roles: ["notify"],
    });
    expect(callerOf({ ...cem, realm_access: "roles" }, nested)).toBe("no_role");
    expect(callerOf({ ...cem, realm_access: null }, nested)).toBe("no_role");
  });

  it("reads a claim by a path with a name in quotes", () => {
    const quoted = settingsOf({ VEDETTE_CONTROL__OIDC__ROLES_CLAIM: '$.access["a.b"].roles' });

    const caller = callerOf({ ...cem, access: { "a.b": { roles: ["leads"] } } }, quoted);

    expect(caller).toMatchObject({ roles: ["approve"] });
  });
});
