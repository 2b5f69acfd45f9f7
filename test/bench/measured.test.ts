/** The form of docs/measured.md and bench/results/: what each figure says of its origin, and that no bench is left out. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const page = readFileSync("docs/measured.md", "utf8");
const scripts = JSON.parse(readFileSync("package.json", "utf8")).scripts as Record<string, string>;
const benches = Object.keys(scripts).filter((name) => name.startsWith("bench:"));
const results = globSync("bench/results/*.md").map((file) => ({
  name: path.basename(file, ".md"),
  text: readFileSync(file, "utf8"),
}));

/** The cells of the first table of a text, by row and without its head. */
function firstTable(text: string): string[][] {
  const [, table = ""] = /\n((?:\|.*\n)+)/.exec(`\n${text}`) ?? [];
  const lines = table.trim().split("\n").slice(2);
  return lines.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

function sectionOf(text: string, heading: string): string {
  return text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? "";
}

const benchesOf = (text: string) =>
  [...text.matchAll(/`(bench:[\w-]+)`/g)].map(([, name = ""]) => name);

it("every bench has a file of results, and there is no other but those by hand", () => {
  const names = results.map(({ name }) => (name === "by-hand" ? name : `bench:${name}`));

  expect(names.toSorted()).toEqual([...benches, "by-hand"].toSorted());
});

it.each(results)("each figure of $name has its machine, date, commit and load", ({ text }) => {
  const runs = firstTable(text);

  expect(runs.length).toBeGreaterThan(0);
  for (const [figures, beside, machine, date, commit, load] of runs) {
    expect([figures, beside, machine, load]).not.toContain("");
    expect(date).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(commit).toMatch(/^(?:published in )?`[0-9a-f]{8}`$/);
  }
});

it.each(results.filter(({ name }) => name !== "by-hand"))("$name has aims", ({ text }) => {
  expect(firstTable(sectionOf(text, "Aims")).length).toBeGreaterThan(0);
});

it("the page links every file of results, and dates each of its rows", () => {
  const runs = firstTable(sectionOf(page, "Runs"));
  const linked = runs.flatMap(([bench = ""]) =>
    [...bench.matchAll(/results\/([\w-]+)\.md/g)].map(([, name]) => name),
  );

  expect(linked.toSorted()).toEqual(results.map(({ name }) => name).toSorted());
  for (const row of runs) expect(row.at(-1)).toMatch(/^\d{4}-\d\d-\d\d$/);
});

it("every missed aim names a bench and a reason", () => {
  const missed = firstTable(sectionOf(page, "Aims"));

  expect(missed.flatMap(([command = ""]) => benchesOf(command))).not.toEqual([]);
  for (const [command = "", ...cells] of missed) {
    expect(benches).toEqual(expect.arrayContaining(benchesOf(command)));
    expect(cells).not.toContain("");
  }
});

it("every bench with a missed aim is on the page", () => {
  const missing = results.filter(({ text }) => sectionOf(text, "Aims").includes("missed"));
  const named = benchesOf(sectionOf(page, "Aims"));

  expect(missing.map(({ name }) => `bench:${name}`).filter((one) => !named.includes(one))).toEqual(
    [],
  );
});

it("every bench is measured again when some part changes", () => {
  expect(new Set(benchesOf(sectionOf(page, "Measuring again")))).toEqual(new Set(benches));
});

it.each(benches)("%s tells what it runs on, and judges", (name) => {
  const file = /node (bench\/[\w-]+\.ts)$/.exec(scripts[name] ?? "")?.[1] ?? "";

  const text = readFileSync(file, "utf8");

  expect(text).toMatch(/^beginBench\(\);$/m);
  expect(text).toMatch(/\bjudge\(/);
});
