/** Requests for a plan, which whoever may read can make, that would keep the program busy or fill its memory. */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tempDir } from "../../support/temp-dir.ts";

/** What the handler does with it before and after it reads the database, in a process that can be ended. */
async function planOf(definitions: object): Promise<string> {
  const file = path.join(tempDir(), "definitions.json");
  const script = `import { readFileSync } from "node:fs";
    import { definitionsHandlers } from "#definitions/contract.ts";
    import { lintSet } from "#definitions/rules/lint.ts";
    import { lintAlertRoutes } from "#routing/commands.ts";
    const body = JSON.parse(readFileSync(process.argv[1], "utf8"));
    const { data, error } = definitionsHandlers.Plan.input.safeParse(body);
    const rows = data?.definitions;
    const found = error?.issues ?? lintSet(rows);
    if (found.length === 0) found.push(...lintAlertRoutes(rows, { ids_file: "" }).findings);
    console.log(found[0]?.message?.slice(0, 500) ?? "sound");`;
  writeFileSync(file, JSON.stringify({ definitions: { ...empty, ...definitions } }));
  const args = ["--no-warnings", "--max-old-space-size=1024", "--input-type=module", "-e", script];
  const { stdout } = await promisify(execFile)(process.execPath, [...args, file], {
    timeout: 45_000,
  });
  return stdout.trim();
}

const empty = {
  ...{ locations: [], channels: [], checks: [], heartbeats: [] },
  ...{ drills: [], sources: [], routes: [] },
};
const many = <Row>(count: number, of: (index: number) => Row) =>
  Array.from({ length: count }, (_, index) => of(index));
/** As long as a body may be. */
const longest = 1_000_000;
const check = (fields: object) => ({ checks: [{ id: "shop", path: "/", ...fields }] });
const half = 10_000;
/** The second half of a ring are heartbeats. */
const ring = (size: number, more: (index: number) => string[] = () => []) => {
  const rows = many(size, (index) => ({
    ...{ id: `a${index}`, dependsOn: [`a${(index + 1) % size}`, ...more(index)] },
    ...(index < half ? { path: "/" } : { periodSeconds: 60, graceSeconds: 0 }),
  }));
  return { checks: rows.slice(0, half), heartbeats: rows.slice(half) };
};
const cron = "59 23 31 2,4,6,9,11 *";
const labels = Object.fromEntries([..."abcdefghi"].map((name) => [name, ["1"]]));
const sources = many(300, (index) => ({
  ...{ name: `s${index}`, title: `s${index}`, kind: "http", environment: null, labels },
}));
const entries = sources.map(({ name: source }) => ({ source, conditions: [] }));
const routes = many(12, (index) => ({
  ...{ name: `r${index}`, sources: entries, escalation: null, channel: "#a" },
}));

/** Of the longest names that there may be: each unknown one is compared with all others. */
const strangers = many(800, (index) => ({
  ...{ id: `a${index}`.padEnd(100, "z"), periodSeconds: 60, graceSeconds: 0 },
  dependsOn: many(10, (by) => `b${index * 10 + by}`.padEnd(100, "z")),
}));
const values = many(480_000, () => 1);

const hostile: [string, object, string | RegExp][] = [
  [
    "braces that never close",
    check({ method: "POST", body: { a: "{{".repeat(longest / 2) } }),
    /between double braces/,
  ],
  [
    "a path of a bracket and blanks",
    check({ assertions: [{ source: "json", path: `[${" ".repeat(longest)}`, equals: 1 }] }),
    "expected at most 500 characters",
  ],
  ["a circle of 20,000 rows", ring(2 * half), /depends on itself/],
  [
    "a circle of 10,000 rows with ways back",
    ring(half, (index) => many(7, (by) => `a${Math.floor(index / (by + 2))}`)),
    /depends on itself|is named twice|is the row itself/,
  ],
  [
    "10,000 times that never come",
    { heartbeats: many(10_000, (index) => ({ id: `h${index}`, cron, graceSeconds: 9 })) },
    "names a time that never comes",
  ],
  ["8,000 names that nobody has", { heartbeats: strangers }, /no such check or heartbeat: did you/],
  [
    "half a million wrong values of a label",
    { sources: [{ ...sources[0], labels: { a: values } }] },
    "expected at most 10000 items",
  ],
  ["routes with 6,000,000 kinds of alerts", { sources, routes }, /are too many to try/],
];

it.each(hostile)("a plan with %s is answered in time", async (_what, definitions, answer) => {
  expect(await planOf(definitions)).toMatch(answer);
});

it("a plan with what others have is sound", async () => {
  const plan = {
    ...check({ method: "POST", body: { a: "{{TOKEN}}" } }),
    heartbeats: [{ id: "job", cron: "0 3 29 2 1", graceSeconds: 60 }],
    sources: sources.slice(0, 1),
    routes: routes.map((row) => ({ ...row, sources: entries.slice(0, 1) })).slice(0, 1),
  };

  expect(await planOf(plan)).toBe("sound");
});
