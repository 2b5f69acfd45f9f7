/** The files in docs/definitions.md are read as the page says. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { faultsOf } from "../support/definitions/definition-files.ts";

const page = readFileSync("docs/definitions.md", "utf8");
const blocks = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, kind = "", text = ""], index, all) => ({ kind, text, said: said(all[index + 1]) }),
);

/** What the block after a file says of its mistakes. */
function said(next: RegExpMatchArray | undefined): string[] {
  return next?.[1] === "text" ? (next[2] ?? "").trim().split("\n").slice(0, -1) : [];
}

const files = blocks.filter(({ kind }) => ["ts", "yaml", "json"].includes(kind));

it.each(files)("$kind: $text", async ({ kind, text, said }) => {
  const included = { "checks/a.yaml": "", "teams/a/b.json": "{}" };

  expect(await faultsOf({ [`vedette.config.${kind}`]: text, ...included })).toEqual(said);
});

it("the page has a file of each format, and one with mistakes", () => {
  expect(new Set(files.map(({ kind }) => kind)).size).toBe(3);
  expect(files.filter(({ said }) => said.length > 1)).toHaveLength(1);
});
