import { expect, it } from "vitest";
import { cutChangelog, findObstacles } from "../../packaging/release.ts";

const of = { version: "1.2.0", date: "2027-01-31" };
const unreleased = "# Changes\n\nOne sentence each.\n\n## Unreleased\n";
const earlier = "\n## 1.1.0, 2026-12-24\n\n- Old.\n";

it("what Unreleased has moves below the version and its date, and Unreleased is empty", () => {
  const cut = cutChangelog(`${unreleased}\n### API\n\n- New.\n${earlier}`, of);

  expect(cut?.changelog).toBe(
    `${unreleased}\n## 1.2.0, 2027-01-31\n\n### API\n\n- New.\n${earlier}`,
  );
});

it("the notes have only the lines of this version", () => {
  const cut = cutChangelog(`${unreleased}\n### API\n\n- New.\n${earlier}`, of);

  expect(cut?.notes).toBe("### API\n\n- New.\n");
});

it("the first release has no version below it", () => {
  expect(cutChangelog(`${unreleased}\n- New.\n`, of)?.changelog).toBe(
    `${unreleased}\n## 1.2.0, 2027-01-31\n\n- New.\n`,
  );
});

it.each([
  ["nothing", unreleased + earlier],
  ["headings alone", `${unreleased}\n### API\n${earlier}`],
  ["no place in the file", `# Changes\n${earlier}`],
])("a changelog whose Unreleased has %s is not cut", (_has, text) => {
  expect(cutChangelog(text, of)).toBeUndefined();
});

const cut = { changelog: "", notes: "- New.\n" };
const ready = {
  version: "1.2.0",
  changed: [],
  tags: ["v1.1.0"],
  stale: [],
  hasJournals: true,
  cut,
};

it("a clean tree with lines under Unreleased may be released", () => {
  expect(findObstacles(ready)).toEqual([]);
});

it.each([
  [
    "a changed file",
    { changed: [" M src/a.ts"] },
    "commit or discard these changes first:\n M src/a.ts",
  ],
  ["nothing new", { cut: undefined }, 'CHANGELOG.md has no lines under "Unreleased"'],
  [
    "its tag",
    { tags: ["v1.2.0"] },
    "v1.2.0 is a tag already: npm version <version> --no-git-tag-version",
  ],
  [
    "another version in a file",
    { stale: ["README.md"] },
    "README.md: not 1.2.0; run node packaging/version.ts, and commit",
  ],
  [
    "no journals",
    { hasJournals: false },
    "test/journals/1.2.0 is absent: npm run journals, and commit",
  ],
])("a checkout with %s is refused", (_what, over, obstacle) => {
  expect(findObstacles({ ...ready, ...over })).toEqual([obstacle]);
});
