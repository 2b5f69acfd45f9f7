/** Processes that outlive their parent: identified by pid and start time, never by name. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/**
 * A pid alone may belong to another process by now. Pid and start time are unique until the machine restarts:
 * start times count from the boot, so the same pair may exist after the next boot or on another machine.
 */
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

/** True if the process has ended, or is of another boot, whose ports are not ours. Of another container nothing is certain. */
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
