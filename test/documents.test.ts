/** What the documents say, held against the repository: settings, links, paths, sizes. */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { withSettingsTable } from "../schema/settings-table.ts";
import { servedProcedures } from "./support/api/served-procedures.ts";
import { anchorsOf, documents, linksOf, proseOf } from "./support/repository/documents.ts";

it("docs/settings.md has the table that schema/write.ts makes of the settings", () => {
  const page = readFileSync("docs/settings.md", "utf8");

  expect(page).toBe(withSettingsTable(page));
});

it("docs/public-api.md lists every procedure, and no other", () => {
  const page = readFileSync("docs/public-api.md", "utf8");
  const rows = page.matchAll(/^\| `(\w+)` +\|(.*)\|$/gm);
  const listed = [...rows].flatMap(([, namespace = "", names = ""]) =>
    [...names.matchAll(/`(\w+)`/g)].map(([, name]) => `${namespace}.${name}`),
  );

  expect(listed.toSorted()).toEqual(servedProcedures.map(([name]) => name).toSorted());
});

/** The most lines that each document may have. */
const longest = {
  "README.md": 150,
  "CONTRIBUTING.md": 150,
  "docs/architecture.md": 130,
  "docs/measured.md": 80,
  "docs/glossary.md": 60,
} as const;

it.each(Object.entries(longest))("%s has at most %i lines", (file, lines) => {
  expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(lines);
});

it("docs/architecture.md names every table of the database, and so who writes it", () => {
  const page = readFileSync("docs/architecture.md", "utf8");
  const schema = globSync("migrations/*.sql").map((file) => readFileSync(file, "utf8"));
  const tables = [...schema.join("\n").matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => name);

  expect(tables).toContain("sentinels");
  expect(tables.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

const slices = globSync("src/*/").map((folder) => `${folder.replace(/\/$/, "")}/README.md`);

it.each(slices)("%s has at most 60 lines", (file) => {
  expect(readFileSync(file, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(60);
});

it.each(documents)("every link of $file leads to a file that is there", (document) => {
  const links = linksOf(document).map(({ target }) => target);

  expect(links.filter((target) => !existsSync(target))).toEqual([]);
});

it.each(documents)("every link of $file to a heading leads to one that is there", (document) => {
  const dead = linksOf(document).filter(({ target, heading }) => {
    const page = documents.find(({ file }) => file === target);
    return heading !== "" && page !== undefined && !anchorsOf(page).includes(heading);
  });

  expect(dead).toEqual([]);
});

/** What a path of the repository begins with, so that it can be told from other text in backticks. */
const roots = "src|test|bench|docs|deploy|examples|migrations|packaging|bin|action|\\.ci";

it.each(documents)("every path that $file names is there", (document) => {
  const named = [...proseOf(document).matchAll(new RegExp(`\`((?:${roots})/[\\w./-]*)\``, "g"))];

  expect(named.map(([, path = ""]) => path).filter((path) => !existsSync(path))).toEqual([]);
});

/** A file of code or a folder, as a README writes it: from its own folder, or from the root. */
const nearPath = /`((?:[\w-]+\/)*[\w.-]+\.(?:tsx?|lua)|(?:[\w-]+\/)+)`/g;

it.each(slices)("every file that %s names is in its slice or at the root", (file) => {
  const text = readFileSync(file, "utf8");
  const folder = path.dirname(file);

  const named = [...text.matchAll(nearPath)].map(([, name = ""]) => name);

  const isThere = (name: string) => existsSync(path.join(folder, name)) || existsSync(name);
  expect(named.filter((name) => !isThere(name))).toEqual([]);
});

const sourceFiles = () =>
  globSync("{src,test,bench}/**/*.{ts,tsx,sql,mjs}", { exclude: isForeign });
const isForeign = (name: string) => name === "node_modules";

/** Where code and comments cite a document and one of its headings. */
const citation = /((?:docs\/[a-z-]+|src\/[a-z]+\/README)\.md)(?:, "([^"]+)")?/g;

it("what the code cites is a document that is there, and a heading of it", () => {
  const dead = sourceFiles().flatMap((file) => {
    const text = readFileSync(file, "utf8").replace(/\n\s*(?:\*|\/\/)\s*/g, " ");
    return [...text.matchAll(citation)]
      .filter(([, page = "", heading]) => !isHeadingOf(page, heading))
      .map(([cited]) => `${file}: ${cited}`);
  });

  expect(dead).toEqual([]);
});

function isHeadingOf(page: string, heading: string | undefined): boolean {
  const document = documents.find(({ file }) => file === page);
  if (document === undefined) return false;
  const headings = [...proseOf(document).matchAll(/^#+ (.+)$/gm)].map(([, text]) => text);
  return heading === undefined || headings.includes(heading);
}

it("no comment cites a document that is not in the repository", () => {
  const strange = /\bspec\.md\b|\((?:spec|design)\b|\bissue \d|house guide/;

  const citing = sourceFiles().filter((file) => strange.test(readFileSync(file, "utf8")));

  expect(citing.filter((file) => file !== "test/documents.test.ts")).toEqual([]);
});
