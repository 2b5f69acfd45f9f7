/** Who somebody is, and what they may do, by what the identity provider says of them. */
import type { Operator } from "#control/config.ts";
import { OperatorName } from "#control/contract.ts";
import type { OidcSettings } from "#control/oidc-config.ts";
import { lowerCaseName } from "#control/person-name.ts";
import { isClean } from "#kernel/clean-text.ts";
import { type Caller, roles as everyRole, type Role } from "#kernel/roles.ts";

/** Of an ID token and the UserInfo endpoint: any JSON. */
export type Claims = Readonly<Record<string, unknown>>;

type ClaimSettings = Pick<OidcSettings, "name_claim" | "roles_claim" | "roles" | "default_roles">;

export type PeopleSettings = {
  oidc: ClaimSettings;
  operators: Readonly<Record<string, Operator>>;
};

type RefusalCode =
  | "no_name"
  | "unverified_email"
  | "unfit_name"
  | "name_taken"
  | "no_role"
  | "may_not_read";

/** `detail` is meant for the person; `name` is absent when the provider's name is not fit for a log. */
export type ClaimRefusal = { code: RefusalCode; detail: string; name?: string };

export type Recognition = { caller: Caller } | { refusal: ClaimRefusal };

/** E-mail addresses have 254 characters at most (RFC 5321, erratum 1690), `sub` 255. */
const longestName = 320;
const mostGroups = 5_000;

/** The caller that the claims speak of. A linked operator has the name and the roles of its row. */
export function identifyPerson(claims: Claims, settings: PeopleSettings): Recognition {
  const named = readName(claims, settings.oidc);
  if ("refusal" in named) return named;
  const { name } = named;
  const row = findLinked(name, settings);
  if (row !== undefined) return { caller: { actor: row[0], roles: row[1].roles } };
  const refusal = refuseName(name, settings);
  if (refusal !== undefined) return { refusal };
  const roles = rolesOf(claims, settings.oidc);
  if (roles.length === 0) return { refusal: { ...noRole(name, settings.oidc), name } };
  return { caller: { actor: name, roles, grantedBy: "control.oidc" } };
}

/** The operator who signs in with this name; undefined: there is none. */
export function findLinked(
  name: string,
  { oidc, operators }: PeopleSettings,
): [string, Operator] | undefined {
  const { name_claim: claim } = oidc;
  return Object.entries(operators).find(
    ([, { sign_in }]) => sign_in !== undefined && lowerCaseName(sign_in, claim) === name,
  );
}

function readName(
  claims: Claims,
  { name_claim: claim }: ClaimSettings,
): { name: string } | { refusal: ClaimRefusal } {
  const given = readClaim(claims, claim);
  if (typeof given !== "string" || given.trim() === "") return { refusal: noName(claim) };
  if (claim === "email" && readClaim(claims, "email_verified") !== true) {
    return { refusal: unverified };
  }
  const name = lowerCaseName(given, claim);
  const isFit = isClean(name, longestName) && name.trim() === name;
  return isFit ? { name } : { refusal: unfit(claim, "it has unfit characters, or too many") };
}

/** Nobody takes an operator's name, or one that stands for nobody in particular. */
function refuseName(name: string, { oidc, operators }: PeopleSettings): ClaimRefusal | undefined {
  const [fault] = OperatorName.safeParse(name).error?.issues ?? [];
  if (fault !== undefined) return unfit(oidc.name_claim, `it ${fault.message}`);
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

/** A claim by its name, which may have dots, or else by a path through objects. */
export function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, part))
      return undefined;
    found = (found as Claims)[part];
  }
  return found;
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
  const detail = `The "${claim}" that the identity provider sends cannot be your name here: ${why}.`;
  return { code: "unfit_name", detail };
}

function nameTaken(name: string): ClaimRefusal {
  const detail =
    `${name} is an operator with a token of their own. To sign in as that operator, the settings have to ` +
    `say so: sign_in of control.operators.`;
  return { code: "name_taken", detail, name };
}

function noRole(name: string, { roles_claim: claim }: ClaimSettings): ClaimRefusal {
  const detail =
    `${name} has no role here: the identity provider sends no value of "${claim}" that is in ` +
    `control.oidc.roles, and control.oidc.default_roles is empty.`;
  return { code: "no_role", detail };
}

/** For the console, which shows things. */
export function notForPeople({ actor, roles }: Caller): ClaimRefusal {
  const detail = `${actor} may only ${roles.join(", ")}. The console takes somebody who may read.`;
  return { code: "may_not_read", detail, name: actor };
}
