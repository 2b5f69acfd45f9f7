/** Starts other programs, limits them, and ends them with this one. */
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { readIfThere } from "./files.ts";

// Processes that outlive their parent: identified by pid and start time, never by name.

/** A pid alone may be another process'. Pid and start time are unique until a restart: start times count from the boot. */
export type ProcessIdentity = {
  pid: number;
  startedAt: string;
  /** Missing where the machine has none. */
  bootId?: string | undefined;
  /** The namespace of the pid, which differs in each container. Missing as above. */
  pidNamespace?: string | undefined;
};

/** The identity of a running process, or undefined when no process has this pid. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  const startedAt = existsSync("/proc/self/stat") ? readProcStart(pid) : readPsStart(pid);
  if (startedAt === undefined) return undefined;
  return {
    pid,
    startedAt,
    ...(bootId !== undefined && { bootId }),
    ...(pidNamespace !== undefined && { pidNamespace }),
  };
}

/** True if we could see the process if it ran: false for another container, machine or boot. */
export function isInSight(identity: ProcessIdentity): boolean {
  const isOfThisBoot = identity.bootId === undefined || identity.bootId === bootId;
  const { pidNamespace: namespace } = identity;
  return isOfThisBoot && (namespace === undefined || namespace === pidNamespace);
}

/** True if exactly this process still runs and is in sight. A zombie doesn't count as running. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (!isInSight(identity)) return false;
  // A damaged file may lack the start time: it must match neither an absent process nor any other.
  const running = identifyProcess(identity.pid);
  return running !== undefined && running.startedAt === identity.startedAt;
}

/** True if the process is alive, and this user's. */
export function isOwn(identity: ProcessIdentity): boolean {
  const uid = statSync(`/proc/${identity.pid}`, { throwIfNoEntry: false })?.uid;
  const isSignalled = unlessThrown(() => process.kill(identity.pid, 0)) === true;
  return isAlive(identity) && isSignalled && (uid === undefined || uid === process.getuid?.());
}

/** True if `least` programs or more listen on a port here, each this user's or root's. Known on Linux; else true. */
export function isServedByOwner(port: number, least = 0): boolean {
  const rows = ["tcp", "tcp6"].flatMap((name) => readIfThere(`/proc/net/${name}`)?.split("\n"));
  const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const users = rows.flatMap((row = "") => {
    const [, address = "", , state, , , , uid] = row.trim().split(/\s+/);
    return state === "0A" && address.endsWith(end) ? Number(uid) : [];
  });
  if (users.length < least) return rows[0] === undefined;
  return users.every((uid) => uid === 0 || uid === process.getuid?.());
}

/** True if the process has ended, or is of another boot, whose ports are not ours. Other containers are never certain. */
export function isGone(identity: ProcessIdentity): boolean {
  const isOfOtherBoot = bootId !== undefined && (identity.bootId ?? bootId) !== bootId;
  return isOfOtherBoot || (isInSight(identity) && !isAlive(identity));
}

/** Changes at each start of the machine; undefined where the machine has none. */
const bootId = unlessThrown(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
const pidNamespace = unlessThrown(() => readlinkSync("/proc/self/ns/pid"));

function unlessThrown<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Sends a signal to exactly this process; does nothing when it is gone. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(identity)) return;
  try {
    process.kill(identity.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Asks a process to end with `signal`, and kills it after `graceMs`. Resolves once it is gone. */
export async function endProcess(
  identity: ProcessIdentity,
  options: { signal: NodeJS.Signals; graceMs: number },
): Promise<void> {
  signalProcess(identity, options.signal);
  if (await waitUntilGone(identity, options.graceMs)) return;
  signalProcess(identity, "SIGKILL");
  await waitUntilGone(identity, 5_000);
}

async function waitUntilGone(identity: ProcessIdentity, withinMs: number): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (isAlive(identity)) {
    if (performance.now() >= deadline) return false;
    await delay(10);
  }
  return true;
}

function readProcStart(pid: number): string | undefined {
  try {
    // The command name may hold spaces and parentheses: fields are counted from its last ")".
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").pop()?.split(" ") ?? [];
    const isZombie = fields[0] === "Z";
    return isZombie ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function readPsStart(pid: number): string | undefined {
  try {
    const line = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { timeout: 5_000 });
    return line.toString().trim() || undefined;
  } catch {
    return undefined;
  }
}

// Programs that the operator names: run without a shell, within limits, and with little of our environment.

type Program = { command: string; args: readonly string[]; env: NodeJS.ProcessEnv };

/** `maxBytes`: of its output. Absent: only last words are read, and what it started may outlive it and us. */
type ProgramLimits = { limitMs: number; maxBytes?: number };

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

/** The file of one of our programs, named as an import: the source, or what was compiled of it in the npm package. */
export function programFile(name: `#${string}.ts`): string {
  return createRequire(import.meta.url).resolve(name);
}

export function readVersion(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Collects an idle thread once, for which it stands still for some 100 ms: V8 keeps what the start took, some 50 MB. */
export function releaseMemoryOfStart(everyMs = 10_000): void {
  let before = performance.eventLoopUtilization();
  const timer = setInterval(async () => {
    const { utilization } = performance.eventLoopUtilization(before);
    before = performance.eventLoopUtilization();
    if (utilization > 0.1) return;
    clearInterval(timer);
    const { Session } = await import("node:inspector/promises");
    const session = new Session();
    session.connect();
    await session.post("HeapProfiler.collectGarbage");
    session.disconnect();
  }, everyMs).unref();
}
