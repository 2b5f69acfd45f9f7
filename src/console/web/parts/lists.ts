/** Lists, pairs and limits as fields of a form have them, as text. Empty text is undefined. Pure. */

/** `gw-7, gw-8` as a list. */
export function toList(text: string): string[] | undefined {
  return text.trim() === "" ? undefined : partsOf(text);
}

/** `tier=canary, kernel=5` by name. */
export function toLabels(text: string): Record<string, string> | undefined {
  return text.trim() === "" ? undefined : Object.fromEntries(pairsOf(text));
}

/** What is wrong with pairs, where the record made of them does not show it. */
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
