/**
 * `tier=canary,kernel=5` as a record. A part without `=`, and a name that comes twice, have no value: the caller's
 * schema refuses them.
 */
export function readPairs(text: string): Record<string, string | undefined> {
  const pairs = new Map<string, string | undefined>();
  for (const pair of text.split(",")) {
    const [name = "", ...rest] = pair.split("=");
    const value = rest.length === 0 ? undefined : rest.join("=").trim();
    pairs.set(name.trim(), pairs.has(name.trim()) ? undefined : value);
  }
  return Object.fromEntries(pairs);
}
