/** The `vedette` command as a child process. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Only a child process that hangs takes so long: a busy machine may be several times slower than a calm one. */
export const childLimitMs = 240_000;

/** The program's entry point, for `node`. */
export const entry = fileURLToPath(new URL("../../../bin/vedette.js", import.meta.url));

export type CommandEnd = { code: number | null; stdout: string; stderr: string };

/** Runs it to its end; one that does not come to an end is ended. By default in our own working directory. */
export function runVedette(
  args: string[],
  environment: Record<string, string> = {},
  directory = process.cwd(),
): Promise<CommandEnd> {
  return startVedette(args, environment, directory).ended;
}

/** Runs it while the test goes on; `said` is what it has written to stderr so far. */
export function startVedette(
  args: string[],
  environment: Record<string, string> = {},
  directory = process.cwd(),
) {
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: directory,
    env: { PATH: process.env["PATH"], ...environment },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: childLimitMs,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const ended = once(child, "close").then(([code]): CommandEnd => ({ code, stdout, stderr }));
  return { ended, said: () => stderr, end: () => child.kill() };
}
