import { expect, it } from "vitest";
import { isShallow, parseYaml, parseYamlDocument, tooDeep } from "#kernel/documents.ts";

const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);

it("takes a hundred levels, and no more", () => {
  const depths = [100, 101, 100_000].map((depth) => isShallow(JSON.parse(nested(depth))));

  expect(depths).toEqual([true, false, false]);
});

it.each([
  ["lists", nested(100_000)],
  ["lists that do not end", "[".repeat(100_000)],
  ["objects", `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`],
  ["lines", "- ".repeat(100_000)],
  ["keys", "? ".repeat(1_000)],
  ["keys in braces", "{".repeat(1_000) + "}".repeat(1_000)],
])("refuses YAML of nested %s before it makes data of it", (_what, text) => {
  expect(parseYamlDocument(text, { logLevel: "error" })).toBeUndefined();
});

it("refuses YAML that nests by its aliases", () => {
  const lists = Array.from({ length: 3 }, (_, index) => {
    const inner = index === 0 ? "1" : `*a${index - 1}`;
    return `- &a${index} ${"[".repeat(60)}${inner}${"]".repeat(60)}`;
  });

  expect(() => parseYaml(lists.join("\n"))).toThrow(tooDeep);
});
