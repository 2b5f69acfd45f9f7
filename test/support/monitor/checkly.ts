/** The hosted monitor's own program, fetched from npm when a test first needs it. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { childLimitMs } from "../program/command.ts";

const nodeModules = fileURLToPath(new URL("../../../node_modules", import.meta.url));

/**
 * Installs the packages of an exported project into a cache, and answers its `node_modules`; null,
 * with a line that says so, when the registry cannot be reached.
 */
export function installCheckly(packageJson: string): string | null {
  const { devDependencies } = JSON.parse(packageJson) as { devDependencies: { checkly: string } };
  const cache = path.join(nodeModules, ".cache", `checkly-${devDependencies.checkly}`);
  const installed = path.join(cache, "node_modules");
  const done = path.join(cache, "installed");
  if (existsSync(done)) return installed;
  mkdirSync(cache, { recursive: true });
  writeFileSync(path.join(cache, "package.json"), packageJson);
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
  const npm = spawnSync("npm", args, { cwd: cache, timeout: childLimitMs, encoding: "utf8" });
  if (npm.status !== 0) {
    const why = npm.stderr.match(/npm error code (\w+)/)?.[1] ?? "npm took too long";
    process.stderr.write(`skipped: tests that need checkly, which npm does not install (${why})\n`);
    return null;
  }
  writeFileSync(done, "");
  return installed;
}

/** Runs `checkly` in a project, with an API double in place of the hosted monitor. */
export async function runCheckly(
  args: string[],
  { project, apiUrl }: { project: string; apiUrl: string },
): Promise<{ code: number | null; output: string }> {
  const program = path.join(project, "node_modules/checkly/bin/run.cjs");
  const child = spawn(process.execPath, [program, ...args], {
    cwd: project,
    env: {
      PATH: process.env["PATH"],
      HOME: project,
      CI: "1",
      CHECKLY_ENV: "local",
      CHECKLY_API_URL: apiUrl,
      CHECKLY_API_KEY: "cu_test",
      CHECKLY_ACCOUNT_ID: "acct",
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: childLimitMs,
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
    });
  }
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}
