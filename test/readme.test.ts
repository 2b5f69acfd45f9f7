/** What the README says of settings, held against the settings there are. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";

/** The names in the first column; `.name` is short for one of the same part as the one before it. */
function namedInReadme(): string[] {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  const table = readme.slice(readme.indexOf("\n| Key "));
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
    .replace(/<[a-z]+>/, "[a-z_]+")
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
  VEDETTE_FLEET__LIST_MAX_MISSING_PERCENT: "49",
};
const settings = pathsOf(readConfig({ environment }), "");

it("the README names every setting", () => {
  const patterns = namedInReadme().map(patternOf);

  expect(settings.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
});

it("the README names no setting that there is not", () => {
  const isThere = (name: string) => settings.some((path) => patternOf(name).test(path));

  expect(namedInReadme().filter((name) => !isThere(name))).toEqual([]);
});
