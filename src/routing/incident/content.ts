/** Normalizes a route: labels, repeated values and defaults that the service adds count as no difference. */
import { createHash } from "node:crypto";
import { parseJson } from "#kernel/body.ts";
import { isShallow } from "#kernel/documents.ts";
import type { Content, Json } from "#routing/incident/contract.ts";

/** Members of a route that the service sets itself. */
const readOnly = new Set(["id", "version", "created_at", "updated_at"]);

/** A route as read, in the shape in which it is written. Unknown members are preserved. */
export function toContent(detail: Content): Content {
  const own = Object.entries(detail).filter(([name]) => !readOnly.has(name));
  return Object.fromEntries(own.map(([name, value]) => [name, toWritten(value, name)]));
}

function toWritten(value: Json, name: string): Json {
  if (Array.isArray(value)) return value.map((element) => toWritten(element, name));
  if (!isObject(value)) return value;
  const bare = withoutEchoes(value, name);
  return Object.fromEntries(
    Object.entries(bare).map(([key, child]) => [key, toWritten(child, key)]),
  );
}

function withoutEchoes(value: Content, name: string): Content {
  if ("subject" in value && "operation" in value) return toWrittenCondition(value);
  if (name === "value" || name === "array_value") return omit(value, "label");
  if (name === "escalation_targets") return withoutEchoedUsers(value);
  // Reading returns expressions and their steps with the type of their result.
  if ("root_reference" in value || "operation_type" in value) return omit(value, "returns");
  if (name === "navigate") return omit(value, "reference_label");
  return value;
}

function toWrittenCondition(condition: Content): Content {
  const { subject, operation } = condition;
  return {
    ...condition,
    subject: isObject(subject) ? (subject["reference"] ?? null) : (subject ?? null),
    operation: isObject(operation) ? (operation["value"] ?? null) : (operation ?? null),
  };
}

/** The service sometimes repeats the escalation paths as users. */
function withoutEchoedUsers(target: Content): Content {
  const { users, escalation_paths: paths } = target;
  if (users === undefined || paths === undefined) return target;
  return literals(users) === literals(paths) ? omit(target, "users") : target;
}

function literals(binding: Json): string {
  return stableText(canonical(toWritten(binding, ""), ""));
}

function omit(value: Content, name: string): Content {
  const { [name]: _omitted, ...rest } = value;
  return rest;
}

/** Lists whose order matters; every other list is a set. */
const ordered = new Set(["operations", "branches", "param_bindings"]);

/** Equal for the same meaning: 0, null, false, empty and absent are one, sets are sorted, JSON in text normalized. */
export function canonical(value: Json, name: string): Json {
  if (Array.isArray(value)) return canonicalList(value, name);
  if (isObject(value)) {
    const members = Object.entries(value)
      .map(([key, child]): [string, Json] => [key, canonical(child, key)])
      .filter(([, child]) => !isDefault(child))
      .sort(([one], [other]) => compareText(one, other));
    return Object.fromEntries(members);
  }
  return name === "literal" && typeof value === "string" ? canonicalLiteral(value) : value;
}

function canonicalList(list: Json[], name: string): Json[] {
  const elements = list.map((element) => canonical(element, name));
  // The service fills the parameters of an operation up with empty ones.
  if (name === "param_bindings")
    elements.splice(elements.findLastIndex((one) => !isDefault(one)) + 1);
  if (ordered.has(name)) return elements;
  const sorted = new Map(elements.map((element) => [JSON.stringify(element), element]));
  const unique = [...sorted].sort(([one], [other]) => compareText(one, other));
  // A single group without conditions matches everything, like no group at all.
  if (name === "condition_groups" && unique.length === 1 && unique[0]?.[0] === "{}") return [];
  return unique.map(([, element]) => element);
}

function isDefault(value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isObject(value)) return Object.keys(value).length === 0;
  return value === null || value === 0 || value === false || value === "";
}

/** Values; a text with more is as it is. */
const mostInText = 10_000;

function canonicalLiteral(text: string): string {
  // The id of a chat channel may have its workspace's id in front.
  const channel = /^T[A-Z0-9]+\/([CG][A-Z0-9]+)$/.exec(text)?.[1];
  if (channel !== undefined) return channel;
  const json = /^\s*["[{]/.test(text) ? parseJson(Buffer.from(text), mostInText) : undefined;
  return json === undefined || !isShallow(json) ? text : stableText(json as Json);
}

/** JSON with the members of every object sorted. */
function stableText(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort(compareText);
  return `{${names.map((key) => `${JSON.stringify(key)}:${stableText(value[key] ?? null)}`).join(",")}}`;
}

export function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

export function isObject(value: Json | undefined): value is Content {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Contents with the same digest mean the same. */
export function digestOf(content: Content): string {
  return createHash("sha256")
    .update(JSON.stringify(canonical(content, "")))
    .digest("hex");
}
