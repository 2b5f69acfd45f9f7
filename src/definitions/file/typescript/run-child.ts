/** Runs the child process that loads a file, within limits. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { programFile } from "#kernel/program-file.ts";
import { listReadable } from "./readable.ts";
import { type LoadResult, parseResult } from "./result.ts";

const withinMs = 10_000;
const largestResult = 16 * 1024 * 1024;

/** Why there is no result; what to do is in the message. */
export class NoResult extends Error {}

export type Limits = { withinMs: number; largestResult: number };

/** Rejects with `NoResult` when the child reports nothing, too much, or not in time. */
export function runChild(
  file: string,
  limits: Limits = { withinMs, largestResult },
): Promise<LoadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const child = startChild(realpathSync(file));
  const [output, lifeline] = child.stdio.slice(3) as [Readable, Writable];
  const fail = (reason: string, options?: ErrorOptions) => reject(new NoResult(reason, options));
  const timer = setTimeout(
    () => fail(`did not load within ${limits.withinMs / 1_000} s`),
    limits.withinMs,
  );
  const exited = Promise.withResolvers<number | null>();
  child.once("exit", exited.resolve);
  child.once("error", (cause) => fail(`cannot be loaded: ${cause.message}`, { cause }));
  readResult(output, { largest: limits.largestResult })
    .then(async (text) =>
      text === undefined ? fail(endedWithout(await exited.promise)) : resolve(parseResult(text)),
    )
    .catch((error: Error) => fail(error.message));
  return promise.finally(() => {
    clearTimeout(timer);
    endGroup(child);
    output.destroy();
    lifeline.destroy();
  });
}

const isWindows = process.platform === "win32";

/** Without the environment, and on all but Windows in a process group of its own. */
function startChild(file: string): ChildProcess {
  const readable = listReadable(file).map((one) => `--allow-fs-read=${one}`);
  const command = [process.execPath, ...flags, ...readable, entry(), file];
  const [program = "", ...args] = isWindows ? command : ["/bin/sh", "-c", guard, "sh", ...command];
  // The output of the file is not its result, and must not be mixed with that of a command.
  const stdio: StdioOptions = ["ignore", "ignore", "ignore", "pipe", "pipe"];
  return spawn(program, args, { env: {}, stdio, detached: !isWindows });
}

/** Ends the group once descriptor 4 is closed, which it is, too, when this process is killed. */
const guard = '(read -r _; kill -s KILL -- "-$$") <&4 3>&- & exec "$@" 4<&-';

function endGroup(child: ChildProcess): void {
  try {
    if (isWindows) child.kill("SIGKILL");
    else if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // All of it has ended.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const flags = [
  // No network, programs, threads, addons and writing; reading as far as it is allowed.
  "--permission",
  // It opens and writes files without permission.
  "--no-experimental-sqlite",
  "--max-old-space-size=512",
  // Its warnings say nothing to the author of a file.
  "--disable-warning=ExperimentalWarning",
  "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON",
];

const entry = () => programFile("#definitions/file/typescript/child.ts");

/** One line; undefined: there was none. */
async function readResult(
  stream: Readable,
  { largest }: { largest: number },
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > largest) throw new Error(`is more than ${largest / 1_048_576} MiB of definitions`);
    if (chunk.at(-1) === newline) return Buffer.concat(chunks).toString();
  }
  return undefined;
}

const newline = 10;

function endedWithout(code: number | null): string {
  if (code === 0 || code === unsettled) {
    return "ended before it had definitions: it calls process.exit, or awaits what never comes";
  }
  return `ended with ${code === null ? "a signal" : `exit code ${code}`} before it had definitions`;
}

/** Node's exit code when a top-level await never settles. */
const unsettled = 13;
