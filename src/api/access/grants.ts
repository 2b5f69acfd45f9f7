/** Decides what a root key may do. A grant is a plain permission, a URN with wildcards, or `*` for all. */

/** A permission by its name (`api.*.create_key`, `unkey:v1:…`), or several joined. */
export type Requirement =
  | string
  | { readonly anyOf: readonly Requirement[] }
  | { readonly allOf: readonly Requirement[] };

export const anyOf = (...requirements: Requirement[]): Requirement => ({ anyOf: requirements });
export const allOf = (...requirements: Requirement[]): Requirement => ({ allOf: requirements });

/** `type.*.action` or `type.<id>.action`. */
export function tuple(type: string, id: string, action: string): Requirement {
  return anyOf(`${type}.*.${action}`, `${type}.${id}.${action}`);
}

const urnPrefix = "unkey:v1:";

export class Grants {
  readonly #plain: ReadonlySet<string>;
  readonly #urns: readonly string[];

  constructor(permissions: readonly string[]) {
    this.#plain = new Set(permissions);
    this.#urns = permissions.filter((permission) => permission.startsWith(urnPrefix));
  }

  allow(requirement: Requirement): boolean {
    if (typeof requirement === "string") return this.#has(requirement);
    if ("anyOf" in requirement) return requirement.anyOf.some((part) => this.allow(part));
    return requirement.allOf.every((part) => this.allow(part));
  }

  /** The plain permissions as they were given, for procedures that list what a key may see. */
  names(): Iterable<string> {
    return this.#plain;
  }

  #has(permission: string): boolean {
    if (this.#plain.has("*") || this.#plain.has(permission)) return true;
    return permission.startsWith(urnPrefix) && this.#urns.some((urn) => matchUrn(urn, permission));
  }
}

/** True if `pattern` covers `urn`, `unkey:v1:<workspace>:<path>#<action>`. `*`: one segment or any action; last `**`: all. */
function matchUrn(pattern: string, urn: string): boolean {
  const [grantedPath = "", grantedAction = ""] = pattern.split("#");
  const [path = "", action = ""] = urn.split("#");
  if (grantedAction !== "*" && grantedAction !== action) return false;
  return matchSegments(grantedPath.split(/[:/]/), path.split(/[:/]/));
}

function matchSegments(granted: readonly string[], wanted: readonly string[]): boolean {
  if (granted.at(-1) === "**") {
    const head = granted.slice(0, -1);
    return head.length <= wanted.length && matchSegments(head, wanted.slice(0, head.length));
  }
  return (
    granted.length === wanted.length &&
    granted.every((segment, index) => segment === "*" || segment === wanted[index])
  );
}

/** Names the missing permissions in a refusal. */
export function describeMissing(requirement: Requirement): string {
  const names = namesOf(requirement);
  return names.length === 1
    ? `Missing permission: '${names[0]}'`
    : `Missing one of these permissions: ${names.join(" or ")}`;
}

function namesOf(requirement: Requirement): string[] {
  if (typeof requirement === "string") return [requirement];
  if ("anyOf" in requirement) return requirement.anyOf.flatMap(namesOf);
  return [requirement.allOf.map((part) => namesOf(part).join(" or ")).join(" and ")];
}
