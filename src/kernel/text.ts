/** Cleans text for people of what a terminal or a page would act on, compares it, and joins it. */

/** Characters that are invisible, or change how the text around them is displayed, or that Postgres refuses. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Cuts to `maxLength` characters, and removes control characters, direction marks and lone surrogates. */
export function cleanText(text: string, maxLength: number): string {
  // Cut first, so that a text of megabytes isn't scanned whole. The cut may split a surrogate pair.
  return text.slice(0, maxLength).toWellFormed().replace(unfit, " ");
}

/** Keeps line breaks and colours; removes everything else that controls a terminal or changes text direction. */
export function forTerminal(text: string): string {
  return text.replace(unfitOrColour, (found) => (colour.test(found) ? found : " "));
}

/** Matches the colours that are used here: none that could hide text. */
const colour = /\[(?:[0-2]|2[0-9]|3[1-79])m$/;

const unfitOrColour = new RegExp(`\\u001b\\[\\d{1,2}m|(?![\\n\\t])${unfit.source}`, unfit.flags);

/** Escapes what `JSON.stringify` leaves: control characters beyond ASCII, and marks of text direction. Keeps line breaks. */
export function escapeJson(json: string): string {
  return json.replace(unfit, (unit) => (unit === "\n" ? unit : escapeUnit(unit)));
}

/** Writes a UTF-16 unit as JSON may: `\u00e4`. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** True if `cleanText` would leave a text unchanged: for ids, which must not be changed. */
export function isClean(text: string, maxLength: number): boolean {
  return text.length <= maxLength && cleanText(text, maxLength) === text;
}

/** Returns the text as Postgres can store it: it refuses NUL and, in JSON, lone surrogates. */
export function toStorable(text: string): string {
  return text.replaceAll("\0", "\ufffd").toWellFormed();
}

/** Writes JSON that Postgres can store. */
export function toStorableJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!mayBeUnstorable.test(json)) return json;
  return JSON.stringify(value, (_, part) => (typeof part === "string" ? toStorable(part) : part));
}

/** Matches how JSON writes NUL and lone surrogates; a replacer costs several times as much as all the rest. */
const mayBeUnstorable = /\\u(?:0000|d[89a-f])/;

// Suggests a name that was probably meant.

type Row = { id: string } | { name: string; id?: never };

/** The row of this name. Throws when there is none, with a code as the refusals of the program have it. */
export function pick<Given extends Row>(kind: string, name: string, rows: readonly Given[]): Given {
  const found = rows.find((row) => nameOf(row) === name);
  if (found !== undefined) return found;
  const code = `unknown_${kind.split(" ").at(-1)}`;
  throw Object.assign(new Error(noSuch(kind, name, rows)), { code });
}

/** `there is no check shpo: did you mean shop?`, or else which there are. `given` may be anything. */
export function noSuch(kind: string, given: string, rows: readonly (Row | string)[]): string {
  return `there is no ${kind} ${cleanText(given, 60)}${hintOf(given, rows) || "; there are none"}`;
}

function nameOf(row: Row | string): string {
  return typeof row === "string" ? row : (row.id ?? row.name);
}

/** `: did you mean checks?`, or else the nearest of those that there are; empty if there are none. */
export function hintOf(given: string, rows: readonly (Row | string)[]): string {
  const known = rows.map(nameOf);
  const near = nearOf(given, known);
  if (near.length > 0) return `: did you mean ${near.join(" or ")}?`;
  if (known.length === 0) return "";
  const names = rank(given, known).map(({ name }) => name);
  return known.length === 1
    ? `; the only one is "${names[0]}"`
    : `; there are ${someOf(names, 10)}`;
}

/** Each hint compares all names: of thousands of faults only the first have one, and in a large fleet only one. */
const mostHints = 10;
const mostCompared = 20_000;

/** As `hintOf`, but for the first calls only; from then on it says how many names there are. */
export function createHint(): typeof hintOf {
  let hints = 0;
  let compared = 0;
  return (given, rows) => {
    const isOver = hints === mostHints || compared > mostCompared;
    if (isOver && rows.length > 0) return `; there are ${rows.length}`;
    hints += 1;
    compared += rows.length;
    return hintOf(given, rows);
  };
}

/** The names that were probably meant; empty: none is near, or too many are equally near. */
export function nearOf(given: string, known: readonly string[]): string[] {
  const near = rank(given, known).filter(
    ({ name, distance }, _, [first]) =>
      distance === first?.distance && distance < Math.max(1, Math.floor(name.length / 3)) + 1,
  );
  return near.length > 3 ? [] : near.map(({ name }) => name);
}

/** The first `most` names, and how many more there are. */
export function someOf(names: readonly string[], most: number, count = names.length): string {
  const named = names.slice(0, most);
  const more = count - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

/** Compares a hundred thousand names of usual length, and of longer ones only the first. */
const mostSteps = 20_000_000;

function rank(given: string, known: readonly string[]) {
  // A longer name is not compared, and may have a million letters.
  const one = given.slice(0, 400).toLowerCase();
  const letters = sorted(one);
  let steps = 0;
  const isSwapped = (name: string) => name.length === one.length && sorted(name) === letters;
  return known
    .map((name) => {
      const other = name.toLowerCase();
      steps += one.length * other.length;
      if (steps > mostSteps) return { name, distance: Math.max(one.length, other.length) };
      // Equally near names that differ at their end come first: in a fleet, these are the neighbours.
      const shift = other.startsWith(one.slice(0, -1)) ? 0 : 0.1;
      return { name, distance: isSwapped(other) ? 1 : distanceOf(one, other) + shift };
    })
    .sort((a, b) => a.distance - b.distance);
}

const sorted = (name: string) => [...name].sort().join();

/** Counts the letters to add, remove or change. Names are short: longer ones are not compared. */
function distanceOf(a: string, b: string): number {
  if (a.length > 100 || b.length > 100) return Math.max(a.length, b.length);
  // Quick: a fleet may have 100,000 names.
  const row = new Uint8Array(b.length + 1).map((_, index) => index);
  for (let i = 0; i < a.length; i++) {
    let before = row[0] ?? 0;
    row[0] = i + 1;
    for (let j = 0; j < b.length; j++) {
      const changed = before + (a.charCodeAt(i) === b.charCodeAt(j) ? 0 : 1);
      before = row[j + 1] ?? 0;
      row[j + 1] = Math.min(changed, before + 1, (row[j] ?? 0) + 1);
    }
  }
  return row.at(-1) ?? 0;
}

/** `tier=canary,kernel=5` as a record. A part without `=`, or a doubled name, has no value: schemas refuse it. */
export function readPairs(text: string): Record<string, string | undefined> {
  const pairs = new Map<string, string | undefined>();
  for (const pair of text.split(",")) {
    const [name = "", ...rest] = pair.split("=");
    const value = rest.length === 0 ? undefined : rest.join("=").trim();
    pairs.set(name.trim(), pairs.has(name.trim()) ? undefined : value);
  }
  return Object.fromEntries(pairs);
}

/** Escapes Slack's three special characters, and replaces lone surrogates, which Slack rejects. */
export function escapeText(given: string): string {
  const text = given.toWellFormed();
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Shortens without cutting an escape or a surrogate pair in two. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/(?:&[a-z]{0,3}|[\uD800-\uDBFF])$/, "")}…`;
}
