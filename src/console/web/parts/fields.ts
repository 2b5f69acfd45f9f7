/** Values as fields of a form have them, as text: empty text is undefined. And the fields that a refusal is about. Pure. */

/** `gw-7, gw-8` as a list. */
export function toList(text: string): string[] | undefined {
  return text.trim() === "" ? undefined : partsOf(text);
}

/** `tier=canary, kernel=5` by name. */
export function toLabels(text: string): Record<string, string> | undefined {
  return text.trim() === "" ? undefined : Object.fromEntries(pairsOf(text));
}

/** The fault of pairs, where the record made of them does not show it; undefined: there is none. */
export function faultOfLabels(text: string): string | undefined {
  const parts = partsOf(text);
  const names = pairsOf(text).map(([name]) => name);
  if (parts.some((part) => !part.includes("="))) return "must be pairs such as tier=canary";
  return new Set(names).size < names.length ? "must name each label once" : undefined;
}

/** `3` as a number; `25 %` as a percentage. Other text stays as it is: the server refuses it. */
export function toLimit(text: string): number | string | undefined {
  const limit = text.replaceAll(" ", "");
  if (limit === "") return undefined;
  return /^\d+$/.test(limit) ? Number(limit) : limit;
}

function pairsOf(text: string): [string, string][] {
  return partsOf(text).map((part) => {
    const [name = "", ...value] = part.split("=");
    return [name.trim(), value.join("=").trim()];
  });
}

function partsOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

export type Faults<Name extends string> = {
  fields: Partial<Record<Name, string>>;
  /** The faults that are about no field. */
  rest: string;
};

export const noFaults: Faults<never> = { fields: {}, rest: "" };

/** A refusal's lines begin with the path of the faulty value. `fields`: each field with its path in the request. */
export function faultsOf<Name extends string>(
  refusal: string,
  fields: Readonly<Record<Name, string>>,
): Faults<Name> {
  const paths = Object.entries<string>(fields) as [Name, string][];
  const faults: Faults<Name> = { fields: {}, rest: "" };
  const rest: string[] = [];
  for (const line of refusal.split("\n")) {
    const [name, path] = paths.find(([, one]) => isAbout(line, one)) ?? [];
    if (name === undefined || path === undefined) rest.push(line);
    else faults.fields[name] ??= wordsAfter(line, path);
  }
  return { ...faults, rest: rest.join("\n") };
}

function isAbout(line: string, path: string): boolean {
  return line.startsWith(`${path}: `) || line.startsWith(`${path}.`);
}

/** The words of a fault, with the label that it is about, without the place in a list. */
function wordsAfter(line: string, path: string): string {
  return line.slice(path.length + 1).replace(/^(?:\d*:)? /, "");
}

/** The paths of fields that are called as in the request. */
export function ownPaths<Name extends string>(
  fields: Readonly<Record<Name, unknown>>,
): Readonly<Record<Name, string>> {
  const names = Object.keys(fields) as Name[];
  return Object.fromEntries(names.map((name) => [name, name])) as unknown as Record<Name, string>;
}

type Filled<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<
    Fields[Name],
    undefined
  >;
};

/** Leaves out the fields that are undefined. */
export function filled<Fields extends object>(fields: Fields): Filled<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as Filled<Fields>;
}

/** `undefined` for an empty text. */
export function textIn(text: string): string | undefined {
  return text.trim() === "" ? undefined : text.trim();
}
