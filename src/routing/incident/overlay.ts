/** Merges declared content over the present one: members that are not declared are preserved. */
import type { Content, Json, RoutePlan } from "#routing/incident/contract.ts";
import { canonical, digestOf, isObject } from "./content.ts";

/** Names of one operation, by the subject of the condition. */
type Aliases = NonNullable<RoutePlan["aliases"]>;

/** The route's whole content with `declared` merged in, which has only the members that we manage. */
export function overlay(current: Content, declared: Content, aliases: Aliases = {}): Content {
  const members = Object.entries(declared).map(([name, value]): [string, Json] => {
    return [name, overlayValue(current[name], value, { name, aliases })];
  });
  return { ...current, ...Object.fromEntries(members) };
}

/** True if the route already means `declared`: writing it would change nothing. */
export function isInStep(current: Content, declared: Content, aliases: Aliases = {}): boolean {
  return digestOf(overlay(current, declared, aliases)) === digestOf(current);
}

/** The name of the member, and the aliases. */
type Member = { name: string; aliases: Aliases };

function overlayValue(current: Json | undefined, declared: Json, member: Member): Json {
  if (Array.isArray(declared)) {
    const present = Array.isArray(current) ? current : [];
    return declared.map((element) => overlayElement(present, element, member));
  }
  const { aliases } = member;
  return isObject(declared) && isObject(current) ? overlay(current, declared, aliases) : declared;
}

/** Members that identify an element of a list. */
const identities = ["alert_source_id", "custom_field_id"];

function overlayElement(present: Json[], declared: Json, { name, aliases }: Member): Json {
  if (!isObject(declared)) return declared;
  const identity = identities.find((member) => member in declared);
  const merge = (element: Content) =>
    overlay(element, withNameOf(element, declared, aliases), aliases);
  const isSame = (element: Json) => {
    if (!isObject(element)) return false;
    if (identity !== undefined) return element[identity] === declared[identity];
    // An element that has all declared members with their values, perhaps more, is the same one.
    return canonicalText(merge(element), name) === canonicalText(element, name);
  };
  const match = present.find(isSame);
  return isObject(match) ? merge(match) : declared;
}

/** A condition keeps the service's name of its operation where that is an alias of the declared one. */
function withNameOf({ operation }: Content, declared: Content, aliases: Aliases): Content {
  const names: readonly (Json | undefined)[] = aliases[String(declared["subject"])] ?? [];
  const isAlias = names.includes(operation) && names.includes(declared["operation"]);
  return isAlias && operation !== undefined ? { ...declared, operation } : declared;
}

function canonicalText(value: Json, name: string): string {
  return JSON.stringify(canonical(value, name));
}
