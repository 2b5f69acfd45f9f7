/** Merges declared content over the present one: members that are not declared are preserved. */
import type { Content, Json } from "#routing/incident/contract.ts";
import { canonical, digestOf, isObject } from "./content.ts";

/** The route's whole content with `declared` merged in, which has only the members that we manage. */
export function overlay(current: Content, declared: Content): Content {
  const members = Object.entries(declared).map(([name, value]): [string, Json] => {
    return [name, overlayValue(current[name], value, name)];
  });
  return { ...current, ...Object.fromEntries(members) };
}

/** Whether writing `declared` would change what the route means. */
export function isInStep(current: Content, declared: Content): boolean {
  return digestOf(overlay(current, declared)) === digestOf(current);
}

function overlayValue(current: Json | undefined, declared: Json, name: string): Json {
  if (Array.isArray(declared)) {
    const present = Array.isArray(current) ? current : [];
    return declared.map((element) => overlayElement(present, element, name));
  }
  return isObject(declared) && isObject(current) ? overlay(current, declared) : declared;
}

/** Members that identify an element of a list. */
const identities = ["alert_source_id", "custom_field_id"];

function overlayElement(present: Json[], declared: Json, name: string): Json {
  if (!isObject(declared)) return declared;
  const identity = identities.find((member) => member in declared);
  const isSame = (element: Json) => {
    if (!isObject(element)) return false;
    if (identity !== undefined) return element[identity] === declared[identity];
    // An element that has all declared members with their values, perhaps more, is the same one.
    return canonicalText(overlay(element, declared), name) === canonicalText(element, name);
  };
  const match = present.find(isSame);
  return isObject(match) ? overlay(match, declared) : declared;
}

function canonicalText(value: Json, name: string): string {
  return JSON.stringify(canonical(value, name));
}
