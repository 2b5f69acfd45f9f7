/** The form of docs/measured.md: what each published figure says of its origin, and that no bench is left out. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync("docs/measured.md", "utf8");
const scripts = JSON.parse(readFileSync("package.json", "utf8")).scripts as Record<string, string>;
const benches = Object.keys(scripts).filter((name) => name.startsWith("bench:"));

/** The cells of the first table under a heading of the second level, by row and without its head. */
function tableUnder(heading: string): string[][] {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? "";
  const lines = section.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

const runs = tableUnder("Runs").map(
  ([figures = "", command = "", beside = "", machine = "", commit = "", load = ""]) => ({
    figures,
    command: /^`npm run ([\w:-]+)`$/.exec(command)?.[1] ?? command,
    beside,
    machine,
    commit,
    load,
  }),
);

it("every published run names a command of package.json, or was made by hand", () => {
  const known = [...benches, "by hand"];

  expect(runs.map(({ command }) => command).filter((name) => !known.includes(name))).toEqual([]);
});

it("every published run names its commit", () => {
  const form = /^(?:published in )?`[0-9a-f]{8}`$/;

  expect(runs.filter(({ commit }) => !form.test(commit))).toEqual([]);
});

it("every published run names its machine and load, and what was measured beside it or that nothing was", () => {
  const isLacking = ({ machine, load, beside }: (typeof runs)[number]) =>
    [machine, load, beside].includes("");

  expect(runs.filter(isLacking)).toEqual([]);
});

it("every section of figures is one run", () => {
  const sections = [...page.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
  const here = runs.filter(({ figures }) => figures.includes("](#"));

  expect(here.map(({ figures }) => /^\[(.+)\]/.exec(figures)?.[1])).toEqual(sections);
});

it("every bench has a published run and an aim", () => {
  const aims = tableUnder("Aims").map(([command = ""]) => command.replaceAll("`", ""));

  expect(new Set(runs.map(({ command }) => command).filter((name) => name !== "by hand"))).toEqual(
    new Set(benches),
  );
  expect(new Set(aims)).toEqual(new Set(benches));
});

it("every bench is measured again when some part changes", () => {
  const cells = tableUnder("Measuring again").map(([, again = ""]) => again);
  const named = cells.flatMap((cell) => [...cell.matchAll(/`(bench:[\w-]+)`/g)]);

  expect(new Set(named.map(([, name]) => name))).toEqual(new Set(benches));
});

it.each(benches)("%s tells what it runs on, and judges", (name) => {
  const file = /node (bench\/[\w-]+\.ts)$/.exec(scripts[name] ?? "")?.[1] ?? "";

  const text = readFileSync(file, "utf8");

  expect(text).toMatch(/^beginBench\(\);$/m);
  expect(text).toMatch(/\bjudge\(/);
});
