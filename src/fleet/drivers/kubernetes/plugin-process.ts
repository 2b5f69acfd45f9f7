/** A child process that prints a secret, within limits of time and output. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";

export type PluginProgram = { command: string; args: readonly string[]; env: NodeJS.ProcessEnv };

/** `maxBytes` of what it prints, on stdout and stderr together. */
export type PluginLimits = { limitMs: number; maxBytes: number };

/** `words` is the end of stderr, in whole lines. */
export type PluginEnd =
  | { kind: "unstarted"; code: string }
  | { kind: "late"; words: string }
  | { kind: "large" }
  | { kind: "ended"; code: number | null; signal: string | null; output: string; words: string };

/** How much of stderr is kept: enough for its last line. */
const keptLength = 4_096;
/** How long output is read after the end: something that it started may hold the pipes. */
const drainMs = 250;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** No shell, and nothing to read. At a limit, or when we end, it is killed with all that it started. */
export function runProgram(program: PluginProgram, limits: PluginLimits): Promise<PluginEnd> {
  const { promise, resolve } = Promise.withResolvers<PluginEnd>();
  const child = start(program);
  if (typeof child === "string") return Promise.resolve({ kind: "unstarted", code: child });
  const kill = () => killGroup(child.pid);
  const read = collect(child, limits.maxBytes, () => {
    kill();
    resolve({ kind: "large" });
  });
  const timer = setTimeout(() => {
    kill();
    resolve({ kind: "late", words: read.words() });
  }, limits.limitMs);
  let drain: NodeJS.Timeout | undefined;
  child.on("error", (error: NodeJS.ErrnoException) =>
    resolve({ kind: "unstarted", code: error.code ?? error.name }),
  );
  child.on("exit", (code, signal) => {
    const end = () =>
      resolve({ kind: "ended", code, signal, output: read.output(), words: read.words() });
    child.once("close", end);
    drain = setTimeout(() => {
      kill();
      end();
    }, drainMs);
  });
  process.once("exit", kill);
  return promise.finally(() => {
    clearTimeout(timer);
    clearTimeout(drain);
    process.off("exit", kill);
    child.stdout.destroy();
    child.stderr.destroy();
  });
}

/** Why it cannot be started: an argument with a zero byte is refused by Node itself, whose message quotes it. */
function start({ command, args, env }: PluginProgram): Child | string {
  try {
    // A process group of its own, so that what it starts can be killed with it.
    return spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).name;
  }
}

function collect({ stdout, stderr }: Child, maxBytes: number, onTooMuch: () => void) {
  const chunks: Buffer[] = [];
  let words = "";
  let size = 0;
  const take = (chunk: Buffer): boolean => {
    size += chunk.length;
    if (size > maxBytes) onTooMuch();
    return size <= maxBytes;
  };
  stdout.on("data", (chunk: Buffer) => {
    if (take(chunk)) chunks.push(chunk);
  });
  stderr.on("data", (chunk: Buffer) => {
    if (take(chunk)) words = keepLast(words + chunk.toString());
  });
  return { output: () => Buffer.concat(chunks).toString(), words: () => words };
}

/** Whole lines only: in half a line a secret would not be found. */
function keepLast(text: string): string {
  if (text.length <= keptLength) return text;
  const cut = text.slice(-keptLength);
  const lineEnd = cut.indexOf("\n");
  return lineEnd === -1 ? "" : cut.slice(lineEnd + 1);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}
