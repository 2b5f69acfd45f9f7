/** Paths to one value (RFC 9535, `$` optional): `data.roles[0]`, `labels["app.name"]`; no wildcards or filters. */

/** Names, and places in lists. Digits between dots are a place, and find a name of digits, too. */
export type JsonPath = readonly (string | number)[];

const plainName = "[$@]?[\\p{L}\\p{N}_][\\p{L}\\p{M}\\p{N}_$@:+-]*";
const step = new RegExp(
  `\\.(?<name>${plainName})|\\[(?:(?<place>0|[1-9]\\d{0,8})|(?<quoted>"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'))\\]`,
  "uy",
);

/** undefined: it is none (`findJsonPathFault` says why). */
export function parseJsonPath(text: string): JsonPath | undefined {
  if (text === "" || /^\$[^.[]/.test(text)) return undefined;
  const rest = text.startsWith("$") ? text.slice(1) : text.replace(/^(?!\[)/, ".");
  const path: (string | number)[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < rest.length) {
    const { name, place, quoted } = step.exec(rest)?.groups ?? {};
    const part = quoted === undefined ? toPart(place ?? name) : unquote(quoted);
    if (part === undefined) return undefined;
    path.push(part);
  }
  return path;
}

function toPart(text: string | undefined): string | number | undefined {
  return text !== undefined && /^(?:0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text;
}

/** Unquotes by JSON's escapes; in single quotes `\'` is one, too. */
function unquote(quoted: string): string | undefined {
  const inner = quoted.slice(1, -1);
  const text = quoted.startsWith('"')
    ? inner
    : inner.replace(/\\.|"/g, (found) => ({ "\\'": "'", '"': '\\"' })[found] ?? found);
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    return undefined;
  }
}

/** Describes the fault of a path, with the right spelling where there is one; undefined: none. */
export function findJsonPathFault(text: string): string | undefined {
  if (parseJsonPath(text) !== undefined) return undefined;
  if (text.trim() === "") return "is empty: write $ for the whole body";
  // Names in quotes may have any characters.
  if (/\*|^\$\.\.|\[\s*(?:[-?:,]|\d+\s*[:,])/.test(text.replace(/"[^"]*"|'[^']*'/g, ""))) {
    return "asks for several values, or counts from the end: a path leads to one value by names and places, such as data.roles[0]";
  }
  const meant = spell(text);
  const isRight = parseJsonPath(meant) !== undefined && /^[^{}]*$/.test(meant);
  return `is no path to one value: ${isRight ? `write ${meant}` : 'write it as data.roles[0] or labels["app.name"]'}`;
}

/** Returns the path that was probably meant, from the words in it; also of a JSON pointer. */
function spell(text: string): string {
  const pointer = /^\s*#?\/(.*)/s.exec(text)?.[1]?.split("/");
  const words = pointer?.map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  const found = words ?? text.match(/(?:\\.|[^.[\]"'\\])+|"[^"]*"|'[^']*'/gsu) ?? [];
  const parts = found
    .map((part, index) => (index === 0 ? part.replace(/^\s*\$/, "") : part))
    .map((part) => part.replace(/^["'](.*)["']$/s, "$1").replace(/\\(.)/gs, "$1"))
    .map((part) => toPart(part.replace(/\(\)$/, "").trim()) ?? "")
    .filter((part) => part !== "");
  return writeJsonPath(parts).replace(/^\$\.?(?=.)/s, "");
}

export function writeJsonPath(path: JsonPath): string {
  const steps = path.map((part) => {
    if (typeof part === "number") return `[${part}]`;
    const isName = /^[\p{L}_][\p{L}\p{M}\p{N}_]*$/u.test(part);
    return isName ? `.${part}` : `[${JSON.stringify(part)}]`;
  });
  return `$${steps.join("")}`;
}

/** undefined: there is no such member. */
export function valueAt(path: JsonPath, body: unknown): unknown {
  let value = body;
  for (const part of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) {
      return undefined;
    }
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}
