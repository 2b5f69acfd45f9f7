/** Holds docs/measured.md and the pages of bench/results/ against the files of results, and each bench to its form. */
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { withMeasured, withRuns } from "../../bench/page.ts";
import { type Figure, type Results, type Run, readAllResults } from "../../bench/results.ts";

const page = readFileSync("docs/measured.md", "utf8");
const scripts = JSON.parse(readFileSync("package.json", "utf8")).scripts as Record<string, string>;
const benches = Object.keys(scripts).filter((name) => name.startsWith("bench:"));
const all = readAllResults();
const results = [...all.values()];
const ofBenches = results.filter(({ bench }) => bench !== "by-hand");

function sectionOf(text: string, heading: string): string {
  return text.split(/^## /m).find((section) => section.startsWith(`${heading}\n`)) ?? "";
}

const benchesOf = (text: string) =>
  [...text.matchAll(/`(bench:[\w-]+)`/g)].map(([, name = ""]) => name);

/** The same results, with one figure of a bench changed. */
function withFigure(bench: string, name: string, change: Partial<Figure>): Map<string, Results> {
  const changed = (run: Run): Run => ({
    ...run,
    figures: run.figures.map((one) => (one.name === name ? { ...one, ...change } : one)),
  });
  const { runs } = all.get(bench) as Results;
  return new Map([...all, [bench, { bench, runs: runs.map(changed) }]]);
}

it("docs/measured.md has what bench/write.ts makes of the results", () => {
  expect(page).toBe(withMeasured(page, all));
});

it.each(results)("the page of $bench has what bench/write.ts makes of its results", (one) => {
  const own = readFileSync(`bench/results/${one.bench}.md`, "utf8");

  expect(own).toBe(withRuns(own, one));
});

it("another figure of a bench makes another page", () => {
  const changed = withMeasured(page, withFigure("verify", "verifications a second", { value: 7 }));

  expect(changed).toContain("| 7 verifications a second in one process");
});

it("a missed aim is on the page with its value", () => {
  const missed = withFigure("limit", "limit against Express, both in process", {
    value: 1.5,
    verdict: "missed",
  });

  expect(sectionOf(withMeasured(page, missed), "Aims")).toMatch(/both in process.*\| [\d.; ]*1\.5/);
});

it("a missed aim without a reason is refused", () => {
  const missed = withFigure("verify", "verifyKey against the floor", { verdict: "missed" });

  expect(() => withMeasured(page, missed)).toThrow(
    'no reason why bench:verify misses "verifyKey against the floor"',
  );
});

it("a sentence whose figure no run has is refused", () => {
  const renamed = withFigure("verify", "verifications a second", { name: "another" });

  expect(() => withMeasured(page, renamed)).toThrow(
    'bench/results/verify.json has no figure "verifications a second"',
  );
});

it("every bench has a file of results and a page, and there is no other but those by hand", () => {
  const expected = [...benches.map((name) => name.slice("bench:".length)), "by-hand"].toSorted();
  const pages = globSync("bench/results/*.md").map((file) => path.basename(file, ".md"));

  expect([...all.keys()].toSorted()).toEqual(expected);
  expect(pages.toSorted()).toEqual(expected);
});

it("the page links the page of every bench", () => {
  const linked = [...sectionOf(page, "Runs").matchAll(/results\/([\w-]+)\.md/g)];

  expect(linked.map(([, name]) => name).toSorted()).toEqual([...all.keys()].toSorted());
});

it.each(results)("each run of $bench names its commit, machine and load", ({ runs }) => {
  expect(runs.length).toBeGreaterThan(0);
  for (const { commit, machine, load } of runs) {
    expect(commit).toMatch(/^(?:published in )?[0-9a-f]{8}$/);
    expect([machine, load]).not.toContain("");
  }
});

it.each(ofBenches)("$bench has an aim", ({ runs }) => {
  expect(runs.flatMap(({ figures }) => figures).some(({ aim }) => aim !== undefined)).toBe(true);
});

it("every bench is measured again when some part changes", () => {
  expect(new Set(benchesOf(sectionOf(page, "Measuring again")))).toEqual(new Set(benches));
});

it.each(benches)("%s starts under its name, reports figures and finishes", (name) => {
  const file = /node (bench\/[\w-]+\.ts)$/.exec(scripts[name] ?? "")?.[1] ?? "";

  const text = readFileSync(file, "utf8");

  expect(text).toContain(`\nstartBench("${name.slice("bench:".length)}");\n`);
  expect(text).toMatch(/\breportFigure\(/);
  expect(text).toMatch(/\nfinishBench\(\);\n(?:process\.exit\(\);\n)?$/);
});
