/** Derives a person's name and roles from the claims of the identity provider. */
import type { Operator } from "#control/config.ts";
import { lowerCaseName, OperatorName } from "#control/contract.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import { parseJsonPath, valueAt } from "#kernel/json-path.ts";
import { type Caller, roles as everyRole, type Role } from "#kernel/roles.ts";
import { isClean } from "#kernel/text.ts";

/** Claims of an ID token and the UserInfo endpoint: any JSON. */
export type Claims = Readonly<Record<string, unknown>>;

type ClaimSettings = Pick<OidcSettings, "name_claim" | "roles_claim" | "roles" | "default_roles">;

export type PeopleSettings = { oidc: ClaimSettings; operators: Readonly<Record<string, Operator>> };

type RefusalCode =
  | "no_name"
  | "unverified_email"
  | "unfit_name"
  | "name_taken"
  | "not_linked"
  | "no_subject"
  | "no_role"
  | "may_not_read";

/** `detail` is meant for the person; `name` is absent when the provider's name is not fit for a log. */
export type ClaimRefusal = { code: RefusalCode; detail: string; name?: string };

/** `isLinked`: name and roles are those of an operator's row. */
export type Recognition = { caller: Caller; isLinked: boolean } | { refusal: ClaimRefusal };

/** E-mail addresses have 254 characters at most (RFC 5321, erratum 1690), `sub` 255. */
const longestName = 320;
const mostGroups = 5_000;

/** A linked operator has its row's name and roles; anybody else the name `held` before, or else that of the claim. */
export function identifyPerson(
  claims: Claims,
  settings: PeopleSettings,
  held?: string,
): Recognition {
  const named = readName(claims, settings.oidc);
  const row = "name" in named ? findLinked(named.name, settings) : undefined;
  if (row !== undefined) {
    return { caller: { actor: row[0], roles: row[1].roles }, isLinked: true };
  }
  const chosen = held === undefined ? chooseName(named, settings) : keepName(held, settings);
  if ("refusal" in chosen) return chosen;
  const { name } = chosen;
  const roles = rolesOf(claims, settings.oidc);
  if (roles.length === 0) return { refusal: { ...noRole(name, settings.oidc), name } };
  return { caller: { actor: name, roles, grantedBy: "control.oidc" }, isLinked: false };
}

type ChosenName = { name: string } | { refusal: ClaimRefusal };

/** Chooses the name of an account that signs in for the first time. */
function chooseName(named: ChosenName, settings: PeopleSettings): ChosenName {
  if ("refusal" in named) return named;
  const refusal = refuseName(named.name, settings);
  return refusal === undefined ? named : { refusal };
}

/** A name that became an operator's, or whose link has gone, needs a link. */
function keepName(name: string, { operators }: PeopleSettings): ChosenName {
  return Object.hasOwn(operators, name) ? { refusal: notLinked(name) } : { name };
}

export function findLinked(
  name: string,
  { oidc, operators }: PeopleSettings,
): [string, Operator] | undefined {
  const { name_claim: claim } = oidc;
  return Object.entries(operators).find(
    ([, { sign_in }]) => sign_in !== undefined && lowerCaseName(sign_in, claim) === name,
  );
}

function readName(claims: Claims, { name_claim: claim }: ClaimSettings): ChosenName {
  const given = readClaim(claims, claim);
  if (typeof given !== "string" || given.trim() === "") return { refusal: noName(claim) };
  if (claim === "email" && readClaim(claims, "email_verified") !== true) {
    return { refusal: unverified };
  }
  const name = lowerCaseName(given, claim);
  const isFit = isClean(name, longestName) && name.trim() === name;
  return isFit ? { name } : { refusal: unfit(claim, "it has unfit characters, or too many") };
}

/** Refuses an operator's name, and one that stands for nobody in particular. */
function refuseName(name: string, { oidc, operators }: PeopleSettings): ClaimRefusal | undefined {
  const [fault] = OperatorName.safeParse(name).error?.issues ?? [];
  if (fault !== undefined) return unfit(oidc.name_claim, whyUnfit(name, fault.message));
  return Object.hasOwn(operators, name) ? nameTaken(name) : undefined;
}

function rolesOf(claims: Claims, oidc: ClaimSettings): Role[] {
  const given = readClaim(claims, oidc.roles_claim);
  const values = (Array.isArray(given) ? given.slice(0, mostGroups) : [given]).filter(
    (value) => typeof value === "string",
  );
  const mapped = new Set(
    values.flatMap((value) => (Object.hasOwn(oidc.roles, value) ? oidc.roles[value] : [])),
  );
  const held = mapped.size > 0 ? mapped : new Set(oidc.default_roles);
  return everyRole.filter((role) => held.has(role));
}

/** A claim by its name, which may have dots, or else by a path. */
export function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return valueAt(parseJsonPath(name) ?? name.split("."), claims);
}

function noName(claim: string): ClaimRefusal {
  const detail = `The identity provider does not send "${claim}", which is to be your name (control.oidc.name_claim).`;
  return { code: "no_name", detail };
}

const unverified: ClaimRefusal = {
  code: "unverified_email",
  detail: "The identity provider has not verified your e-mail address.",
};

function unfit(claim: string, why: string): ClaimRefusal {
  const detail =
    `The "${claim}" that the identity provider sends cannot be your name here: ${why}. An administrator can ` +
    `link it to a name that can: sign_in of control.operators.`;
  return { code: "unfit_name", detail };
}

/** Explains why a name is refused: its characters, else `fault` in the words of the rule. */
function whyUnfit(name: string, fault: string): string {
  if (/^[a-z0-9][a-z0-9._@-]*$/.test(name)) return `it ${fault}`;
  return "it has other characters than a-z, 0-9, and after the first one also . _ @ -";
}

function nameTaken(name: string): ClaimRefusal {
  const detail =
    `${name} is an operator with a token of their own. To sign in as that operator, the settings have to ` +
    `say so: sign_in of control.operators.`;
  return { code: "name_taken", detail, name };
}

function notLinked(name: string): ClaimRefusal {
  const detail =
    `Your account's name here is ${name}, which is an operator of the settings to whom it is not linked. ` +
    `An administrator has to set sign_in of control.operators.${name}.`;
  return { code: "not_linked", detail, name };
}

/** Refuses a name that was another account's first: of an earlier owner of this address, or one that was made anew. */
export function nameOfAnother(name: string): ClaimRefusal {
  const detail =
    `${name} is the name of another account of the identity provider, which has signed in here before. If it ` +
    `is yours, an administrator has to link it: sign_in of control.operators.`;
  return { code: "name_taken", detail, name };
}

export const noSubject: ClaimRefusal = {
  code: "no_subject",
  detail: 'The identity provider sends no usable "sub", by which it tells accounts apart.',
};

function noRole(name: string, { roles_claim: claim }: ClaimSettings): ClaimRefusal {
  const detail =
    `${name} has no role here: the identity provider sends no value of "${claim}" that is in ` +
    `control.oidc.roles, and control.oidc.default_roles is empty.`;
  return { code: "no_role", detail };
}

/** Refuses a caller without the role `read` at the console. */
export function notForPeople({ actor, roles }: Caller): ClaimRefusal {
  const detail = `${actor} may only ${roles.join(", ")}. The console takes somebody who may read.`;
  return { code: "may_not_read", detail, name: actor };
}
