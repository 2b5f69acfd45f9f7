/** The differences between two configurations of Alertmanager, by meaning, field by field. */
import { parseYaml } from "#kernel/documents.ts";

/** null: the field is not set. */
export type SettingChange = { path: string; before: string | null; after: string | null };

/** `before` null: there is no file. Empty when they mean the same. Throws when `before` is no YAML. */
export function diffConfigs(before: string | null, after: string): SettingChange[] {
  const old = before === null ? new Map<string, string>() : flatten(parseYaml(before));
  const wanted = flatten(parseYaml(after));
  const paths = [...new Set([...old.keys(), ...wanted.keys()])];
  return paths.flatMap((path) => {
    const [was = null, is = null] = [old.get(path), wanted.get(path)];
    return was === is ? [] : [{ path, before: was === null ? null : mask(path, was), after: is }];
  });
}

/** Fields that we write ourselves. A value that someone else has put into the file may be a secret. */
const harmless = new Set([
  ...["receiver", "matchers", "name", "send_resolved", "follow_redirects", "credentials_file"],
  ...["group_by", "group_wait", "group_interval", "repeat_interval", "in order"],
  ...["active_time_intervals", "start_time", "end_time", "weekdays", "location"],
  ...["source_matchers", "target_matchers", "equal"],
]);

function mask(path: string, value: string): string {
  const field = /([\w ]+?)(?:\[\d+\])?$/.exec(path)?.[1]?.trim() ?? "";
  const name = field.endsWith("in order") ? "in order" : field;
  if (name === "url") return value.replace(/^(\w+:\/\/)[^/?#]*@/, "$1").replace(/[?#].*$/s, "");
  return harmless.has(name) ? value : "(not shown)";
}

type Fields = Map<string, string>;

function flatten(value: unknown, path = "", fields: Fields = new Map()): Fields {
  if (Array.isArray(value)) flattenList(value, path, fields);
  else if (typeof value === "object" && value !== null) {
    for (const [name, child] of Object.entries(value)) {
      flatten(child, path === "" ? name : `${path}.${name}`, fields);
    }
  } else if (value !== null && value !== undefined) fields.set(path, String(value));
  return fields;
}

/** Routes and receivers are identified by name, so that an inserted one does not shift the others. */
function flattenList(items: readonly unknown[], path: string, fields: Fields): void {
  const names = items.map(nameOf);
  const isNamed = names.every((name, i) => name !== undefined && names.indexOf(name) === i);
  items.forEach((item, i) => {
    flatten(item, `${path}[${isNamed ? names[i] : i}]`, fields);
  });
  // The first matching route counts, so their order matters; that of receivers does not.
  if (isNamed && path.endsWith("routes")) fields.set(`${path} in order`, names.join(", "));
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const { name, receiver } = item as { name?: unknown; receiver?: unknown };
  return [name, receiver].find((text) => typeof text === "string") as string | undefined;
}
