/** What the documents say, held against the repository: settings, links, paths, sizes. */
import { existsSync, globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { readConfig, secretSettings } from "#config.ts";
import { servedProcedures } from "./support/api/served-procedures.ts";
import { anchorsOf, documents, linksOf, proseOf } from "./support/repository/documents.ts";

/** The names in the first column; `.name` is short for one of the same part as the one before it. */
function documentedSettings(column: "Key" | "Setting" = "Key"): string[] {
  const page = readFileSync("docs/settings.md", "utf8");
  const table = page.slice(page.indexOf(`\n| ${column} `));
  const rows = table.slice(0, table.indexOf("\n\n")).trim().split("\n").slice(2);
  return rows.flatMap((row) => {
    let part = "";
    return [...(row.split("|")[1] ?? "").matchAll(/`([a-z_.<>…]+)`/g)].map(([, name = ""]) => {
      const whole = name.startsWith(".") ? part + name : name;
      part = whole.slice(0, whole.lastIndexOf("."));
      return whole;
    });
  });
}

/** `<job>` and `<environment>` stand for each of their kind, `…` for whatever is below. */
function patternOf(name: string): RegExp {
  const pattern = name
    .replaceAll(".", "\\.")
    .replace(/<[a-z]+>/, "[a-z_<>]+")
    .replace("…", ".+");
  return new RegExp(`^${pattern}$`);
}

function pathsOf(value: unknown, path: string): string[] {
  const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isGroup ? Object.entries(value) : [];
  if (entries.length === 0) return [path];
  return entries.flatMap(([key, below]) => pathsOf(below, path === "" ? key : `${path}.${key}`));
}

/** The settings without a default. */
const environment = {
  VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "true",
  VEDETTE_ROLLOUT__ON_FAILURE: "pause",
  VEDETTE_ROLLOUT__MAX_FAILED__PER_WAVE: "1",
  VEDETTE_ROLLOUT__MAX_FAILED__IN_ALL: "2%",
  VEDETTE_ROLLOUT__SOAK_SECONDS: "60",
  VEDETTE_ROLLOUT__APPROVALS: "last_wave",
  VEDETTE_ROLLOUT__CANARY_LABELS: "tier=canary",
  VEDETTE_ROLLOUT__REGIONS: "eu,us",
  VEDETTE_ROLLOUT__MAX_PER_REGION: "25%",
  VEDETTE_ROLLOUT__MAX_UNAVAILABLE: "10%",
  VEDETTE_CI__LABELS: "tests=passed",
  VEDETTE_CI__SIGSTORE__IDENTITIES__RELEASE__ISSUER: "https://token.actions.githubusercontent.com",
  VEDETTE_CI__SIGSTORE__IDENTITIES__RELEASE__SUBJECT: "https://github.com/acme/gateway/*",
  VEDETTE_FLEET__LIST_MAX_MISSING_PERCENT: "49",
  VEDETTE_FLEET__OPERATORS: "ada",
  VEDETTE_FLEETS__STAGING__DRIVER: "docker",
  VEDETTE_FLEETS__STAGING__LIST_MAX_MISSING_PERCENT: "49",
  VEDETTE_FLEETS__STAGING__OPERATORS: "ada",
  VEDETTE_FLEETS__STAGING__ROLLOUT__MAX_PARALLEL: "5",
  VEDETTE_FLEETS__STAGING__REGISTRY__ALLOWED: "staging.example.com",
};
const settings = pathsOf(readConfig({ environment }), "");

it("docs/settings.md names every setting", () => {
  const patterns = documentedSettings().map(patternOf);

  expect(settings.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});

it("docs/settings.md names no setting that there is not", () => {
  const isThere = (name: string) => settings.some((path) => patternOf(name).test(path));

  expect(documentedSettings().filter((name) => !isThere(name))).toEqual([]);
});

it("docs/settings.md names every secret, and no other setting as one", () => {
  const patterns = documentedSettings("Setting").map(patternOf);

  expect(secretSettings.filter((path) => !patterns.some((one) => one.test(path)))).toEqual([]);
  expect(patterns.filter((one) => !secretSettings.some((path) => one.test(path)))).toEqual([]);
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
const roots = "src|test|bench|docs|deploy|migrations|bin|action|\\.ci";

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
