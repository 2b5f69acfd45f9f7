/** Programs that the operator names: run without a shell, within limits, and with little of our environment. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";

export type Program = { command: string; args: readonly string[]; env: NodeJS.ProcessEnv };

/**
 * `maxBytes`: of what it prints on stdout and stderr together. Absent: nothing is read from its stdout but its last words,
 * and what it has started may outlive it and us, as a daemon that it restarts does.
 */
export type ProgramLimits = { limitMs: number; maxBytes?: number };

/** `words` is the end of stderr, or of both without `maxBytes`, in whole lines. */
export type ProgramEnd =
  | { kind: "unstarted"; code: string }
  | { kind: "late"; words: string }
  | { kind: "large" }
  | { kind: "ended"; code: number | null; signal: string | null; output: string; words: string };

/** Variables that ssh, docker, systemctl and programs of the clouds read. Our own settings and secrets are not for them. */
const names = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LANGUAGE", "KUBECONFIG"],
  ...["SHELL", "DISPLAY", "KRB5CCNAME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "DOCKER_CONFIG"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"],
  ...["http_proxy", "https_proxy", "no_proxy", "all_proxy"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"],
]);
const families = /^(?:LC|XDG|SSH|AWS|GOOGLE|CLOUDSDK|AZURE|AAD)_/;

export function environmentOfTools(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => names.has(name) || families.test(name)),
  );
}

/** Stored length of the last output: enough for its last line. */
const keptLength = 4_096;
/** Output is read for this long after the program's end: a child of it may hold the pipes. */
const drainMs = 250;

type Child = ChildProcessByStdio<null, Readable, Readable>;

/** Runs a program without input. At a limit, or when we end, it is killed with all that it started. */
export function runProgram(program: Program, limits: ProgramLimits): Promise<ProgramEnd> {
  const { promise, resolve } = Promise.withResolvers<ProgramEnd>();
  const child = start(program);
  if (typeof child === "string") return Promise.resolve({ kind: "unstarted", code: child });
  const kill = () => killGroup(child.pid);
  const killRest = limits.maxBytes === undefined ? () => {} : kill;
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
      killRest();
      end();
    }, drainMs);
  });
  process.once("exit", killRest);
  return promise.finally(() => {
    clearTimeout(timer);
    clearTimeout(drain);
    process.off("exit", killRest);
    child.stdout.destroy();
    child.stderr.destroy();
  });
}

/** Why it cannot be started: an argument with a zero byte is refused by Node itself, whose message quotes it. */
function start({ command, args, env }: Program): Child | string {
  try {
    // A process group of its own, so that what it starts can be killed with it.
    return spawn(command, args, { env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? (error as Error).name;
  }
}

function collect({ stdout, stderr }: Child, maxBytes: number | undefined, onTooMuch: () => void) {
  const chunks: Buffer[] = [];
  let words = "";
  let size = 0;
  const addWords = (chunk: Buffer) => {
    words = keepLast(words + chunk.toString());
  };
  const upToLimit = (take: (chunk: Buffer) => void) => (chunk: Buffer) => {
    size += chunk.length;
    if (maxBytes !== undefined && size > maxBytes) onTooMuch();
    else take(chunk);
  };
  stdout.on("data", upToLimit(maxBytes === undefined ? addWords : (chunk) => chunks.push(chunk)));
  stderr.on("data", upToLimit(addWords));
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
