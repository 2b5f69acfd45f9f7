/** `packaging/release.ts` in a small repository with git and npm. */
import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { beforeEach, expect, it } from "vitest";
import { directoryOf } from "../../support/definitions/definition-files.ts";
import { cleanEnvironment } from "../../support/servers/dockerfile.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { runChild } from "../action/run-child.ts";

const script = path.resolve("packaging/release.ts");
const changelog = "# Changes\n\n## Unreleased\n\n### API\n\n- New.\n";

let root: string;

beforeEach(async () => {
  root = directoryOf({
    "package.json": JSON.stringify({
      name: "small",
      version: "0.2.0",
      scripts: { check: "true" },
    }),
    "CHANGELOG.md": changelog,
    "README.md": "vedette-0.2.0.tgz\n",
    ".gitignore": "dist/\n",
    "test/journals/0.2.0/Orders.order-1.gz": "recorded",
  });
  await git("init", "--quiet");
  await commitAll();
});

const commitAll = async () => {
  await git("add", "--all");
  const as = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  await git(...as, "commit", "--quiet", "--no-gpg-sign", "--message", "all");
};

async function git(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("git", args, { cwd: root, env: cleanEnvironment() });
  return stdout;
}

const write = (file: string, text: string) => writeFileSync(path.join(root, file), text);
const read = (file: string) => readFileSync(path.join(root, file), "utf8");

function release(...args: string[]) {
  const inRoot = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", root];
  return runChild([...inRoot, process.execPath, script, ...args], { HOME: tempDir() });
}

it("a release packs, cuts the changelog, writes the notes, and prints the commands", async () => {
  const { code, output } = await release();

  expect({ code, output }).toMatchObject({ code: 0 });
  expect(read("CHANGELOG.md")).toMatch(
    /^## Unreleased\n\n## 0\.2\.0, 20\d\d-\d\d-\d\d\n\n### API$/m,
  );
  expect(read("dist/release/notes-0.2.0.md")).toBe("### API\n\n- New.\n");
  expect(globSync("dist/release/*.tgz", { cwd: root })).toEqual(["dist/release/small-0.2.0.tgz"]);
  expect(output).toContain("git tag --annotate v0.2.0");
});

it("a release commits and tags nothing", async () => {
  const before = await git("rev-parse", "HEAD");

  await release();

  expect(await git("rev-parse", "HEAD")).toBe(before);
  expect(await git("tag", "--list")).toBe("");
});

it("the printed commands make a tag whose message is the notes", async () => {
  const { output } = await release();
  const [commit = "", tag = ""] = output.slice(output.lastIndexOf("git commit")).split("\n");
  const as = "git config user.name Ada; git config user.email ada@example.com";

  await promisify(execFile)("sh", ["-ec", `${as}; ${commit}; ${tag}`], { cwd: root });

  expect(await git("tag", "--list", "--format=%(contents)")).toBe("### API\n\n- New.\n\n");
  expect(await git("status", "--porcelain")).toBe("");
});

it("a dry run shows notes and commands, and changes nothing", async () => {
  const { code, output } = await release("--dry-run");

  expect(code).toBe(0);
  for (const text of ["npm run check", "npm pack", "- New.", "git tag --annotate v0.2.0"]) {
    expect(output).toContain(text);
  }
  expect(read("CHANGELOG.md")).toBe(changelog);
  expect(existsSync(path.join(root, "dist"))).toBe(false);
});

it("a release of a tree with changes is refused, and they are named", async () => {
  write("new.txt", "");

  const { code, output } = await release();

  expect({ code, output }).toEqual({
    code: 1,
    output: "commit or discard these changes first:\n?? new.txt\n",
  });
});

it("a release whose files name another version is refused", async () => {
  write("README.md", "vedette-0.1.0.tgz\n");
  await commitAll();

  const { code, output } = await release();

  expect(code).toBe(1);
  expect(output).toContain("README.md: not 0.2.0");
});

it.each([
  ["check", { check: "exit 3" }, "npm run check failed"],
  ["pack", { check: "true", prepack: "exit 3" }, "npm pack --pack-destination dist/release failed"],
])(
  "a release whose %s fails leaves the changelog as it was and says so",
  async (_step, scripts, said) => {
    write("package.json", JSON.stringify({ name: "small", version: "0.2.0", scripts }));
    await commitAll();

    const { code, output } = await release();

    expect(code).toBe(1);
    expect(output).toContain(`${said}; CHANGELOG.md is as it was\n`);
    expect(read("CHANGELOG.md")).toBe(changelog);
  },
);
