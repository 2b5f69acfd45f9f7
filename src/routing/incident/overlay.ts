/** Lays what we declare over what is there: what we say nothing about stays as it is. */
import type { Content, Json } from "#routing/incident/contract.ts";
import { canonical, digestOf, isObject } from "./content.ts";

/** The route's whole content as it is to be; `declared` has only the members that we rule. */
export function overlay(current: Content, declared: Content): Content {
  const members = Object.entries(declared).map(([name, value]): [string, Json] => {
    return [name, lay(current[name], value, name)];
  });
  return { ...current, ...Object.fromEntries(members) };
}

/** Whether writing `declared` would change what the route means. */
export function isInStep(current: Content, declared: Content): boolean {
  return digestOf(overlay(current, declared)) === digestOf(current);
}

function lay(current: Json | undefined, declared: Json, name: string): Json {
  if (Array.isArray(declared)) {
    const present = Array.isArray(current) ? current : [];
    return declared.map((element) => layElement(present, element, name));
  }
  return isObject(declared) && isObject(current) ? overlay(current, declared) : declared;
}

/** Members by which an element of a list is known, whatever else it says. */
const identities = ["alert_source_id", "custom_field_id"];

function layElement(present: Json[], declared: Json, name: string): Json {
  if (!isObject(declared)) return declared;
  const identity = identities.find((member) => member in declared);
  const isSame = (element: Json) => {
    if (!isObject(element)) return false;
    if (identity !== undefined) return element[identity] === declared[identity];
    // An element that says what we say, and more, is the one that we mean.
    return says(overlay(element, declared), name) === says(element, name);
  };
  const twin = present.find(isSame);
  return isObject(twin) ? overlay(twin, declared) : declared;
}

function says(value: Json, name: string): string {
  return JSON.stringify(canonical(value, name));
}
