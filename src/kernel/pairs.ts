/** `tier=canary,kernel=5` as a record. A part without `=` has no value: the caller's schema refuses it. */
export function readPairs(text: string): Record<string, string | undefined> {
  const pairs = text.split(",").map((pair) => {
    const [name = "", ...value] = pair.split("=");
    return [name.trim(), value.length === 0 ? undefined : value.join("=").trim()];
  });
  return Object.fromEntries(pairs);
}
