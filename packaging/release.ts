/**
 * Prepares the release of the version in package.json: checks, cuts the changelog, packs, and prints the commands for
 * commit and tag, which it does not run. `--dry-run` prints the same and changes nothing.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findStale, readVersion } from "./version.ts";

const heading = "## Unreleased";

/** Where package and notes are written: git ignores it. */
const folder = "dist/release";

export type Cut = { changelog: string; notes: string };

/** Moves what "Unreleased" has below a heading of the version. Undefined: it has no line. */
export function cutChangelog(
  text: string,
  { version, date }: { version: string; date: string },
): Cut | undefined {
  const at = text.indexOf(`\n${heading}\n`);
  if (at === -1) return undefined;
  const start = at + heading.length + 2;
  const next = text.indexOf("\n## ", start);
  const end = next === -1 ? text.length : next;
  const notes = `${text.slice(start, end).trim()}\n`;
  if (!/^- /m.test(notes)) return undefined;
  const before = `${text.slice(0, start)}\n## ${version}, ${date}\n\n`;
  return { changelog: before + notes + text.slice(end), notes };
}

type Checkout = {
  version: string;
  /** Lines of `git status --porcelain`. */
  changed: string[];
  /** Names of all tags. */
  tags: string[];
  /** Files that name another version. */
  stale: string[];
  /** True if the journals of the version are recorded. */
  hasJournals: boolean;
  /** CHANGELOG.md as it is. */
  changelog: string;
  cut: Cut | undefined;
};

/** Each reason against the release, with what to do; none: it may start. */
export function findObstacles({
  version,
  changed,
  tags,
  stale,
  hasJournals,
  cut,
}: Omit<Checkout, "changelog">): string[] {
  return [
    ...(changed.length > 0
      ? [`commit or discard these changes first:\n${changed.join("\n")}`]
      : []),
    ...(cut === undefined ? [`CHANGELOG.md has no lines under "${heading.slice(3)}"`] : []),
    ...(tags.includes(`v${version}`)
      ? [`v${version} is a tag already: npm version <version> --no-git-tag-version`]
      : []),
    ...(stale.length > 0
      ? [`${stale.join(", ")}: not ${version}; run node packaging/version.ts, and commit`]
      : []),
    ...(hasJournals ? [] : [`test/journals/${version} is absent: npm run journals, and commit`]),
  ];
}

/** The commands that publish what was prepared; git would drop the notes' headings without `--cleanup`. */
const commandsFor = (version: string, notesFile: string) => `\
git commit --all --message "release: cut ${version}"
git tag --annotate v${version} --cleanup=whitespace --file ${notesFile}
git push origin HEAD v${version}`;

function readCheckout(root: string, date: string): Checkout {
  const linesOf = (args: string[]) =>
    execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\n").filter(Boolean);
  const version = readVersion(root);
  const changelog = readFileSync(path.join(root, "CHANGELOG.md"), "utf8");
  return {
    version,
    changed: linesOf(["status", "--porcelain"]),
    tags: linesOf(["tag", "--list"]),
    stale: findStale(root).map(({ file }) => file),
    hasJournals: existsSync(path.join(root, "test/journals", version)),
    changelog,
    cut: cutChangelog(changelog, { version, date }),
  };
}

/** Exit code 0: prepared, or would be; 1: there is an obstacle, or a step failed. */
function release(root: string, isDryRun: boolean): number {
  const { cut, ...checkout } = readCheckout(root, new Date().toISOString().slice(0, 10));
  const say = (text: string) => process.stdout.write(`${text}\n`);
  const obstacles = findObstacles({ cut, ...checkout });
  for (const obstacle of obstacles) process.stderr.write(`${obstacle}\n`);
  if (obstacles.length > 0 || cut === undefined) return 1;
  const notesFile = `${folder}/notes-${checkout.version}.md`;
  if (!isDryRun) mkdirSync(path.join(root, folder), { recursive: true });
  const write = (file: string, text: string) => {
    if (!isDryRun) writeFileSync(path.join(root, file), text);
  };
  const npm = (...args: string[]): boolean => {
    say(`\n> npm ${args.join(" ")}`);
    if (isDryRun || spawnSync("npm", args, { cwd: root, stdio: "inherit" }).status === 0)
      return true;
    write("CHANGELOG.md", checkout.changelog);
    process.stderr.write(`npm ${args.join(" ")} failed; CHANGELOG.md is as it was\n`);
    return false;
  };
  if (!npm("run", "check")) return 1;
  write(notesFile, cut.notes);
  // Before it is packed: the package has the changelog.
  write("CHANGELOG.md", cut.changelog);
  if (!npm("pack", "--pack-destination", folder)) return 1;
  say(`\n${notesFile} ${isDryRun ? "would have" : "has"}:\n\n${cut.notes}`);
  say(isDryRun ? "Nothing was changed. A release ends with:\n" : "Now run:\n");
  say(commandsFor(checkout.version, notesFile));
  return 0;
}

if (import.meta.main) process.exitCode = release(process.cwd(), process.argv.includes("--dry-run"));
