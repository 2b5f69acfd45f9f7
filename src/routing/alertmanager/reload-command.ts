/** Runs the operator's command that makes the alert manager read its secrets again. */
import { spawn } from "node:child_process";

/** The command failed; `message` says why and quotes the last line of its output. */
class ReloadError extends Error {}

export type ReloadOptions = {
  timeoutMs: number;
  /** Removed from quoted output, should the command print them. */
  secrets: readonly string[];
};

/** How much of the output's end is kept: enough to find its last line. */
const keptLength = 4_096;

/** How long output is still read after the command's exit. */
const drainMs = 250;

/**
 * Runs `argv` without a shell, and resolves once it has ended with 0. After `timeoutMs` it is killed
 * with all processes that it started. It does not inherit our environment, which holds secrets.
 */
export async function runReload(argv: readonly string[], options: ReloadOptions): Promise<void> {
  const [program = "", ...args] = argv;
  const { code, signal, output, startError, isLate } = await runToEnd(program, args, options);
  if (startError !== undefined) {
    throw new ReloadError(`${program} cannot be started (${startError}); is it installed here?`);
  }
  if (isLate) {
    throw new ReloadError(`${program} did not end within ${options.timeoutMs / 1_000} s`);
  }
  if (code === 0) return;
  const end = code === null ? `was ended by ${signal}` : `ended with ${code}`;
  throw new ReloadError(`${program} ${end}${quoteLast(output, options.secrets)}`);
}

type End = {
  code: number | null;
  signal: NodeJS.Signals | null;
  output: string;
  startError?: string;
  isLate: boolean;
};

function runToEnd(program: string, args: string[], { timeoutMs }: ReloadOptions): Promise<End> {
  const child = spawn(program, args, {
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
    // A process group of its own, so that the processes that it starts can be killed with it.
    detached: true,
  });
  let output = "";
  const keep = (chunk: Buffer) => {
    output = keepLast(output + chunk.toString());
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  return new Promise((resolve) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      killGroup(child.pid);
    }, timeoutMs);
    const end = (rest: Pick<End, "code" | "signal"> & { startError?: string }) => {
      clearTimeout(timer);
      resolve({ ...rest, output, isLate });
    };
    child.on("error", (error: NodeJS.ErrnoException) =>
      end({ code: null, signal: null, startError: error.code ?? error.name }),
    );
    child.on("exit", (code, signal) => {
      // A daemon that the command restarted may hold the pipes open, so the wait for their end is short.
      const drainTimer = setTimeout(() => finish(), drainMs);
      const finish = () => {
        clearTimeout(drainTimer);
        child.stdout.destroy();
        child.stderr.destroy();
        end({ code, signal });
      };
      child.once("close", finish);
    });
  });
}

/** Whole lines only: a secret that is cut in two would not be found and removed. */
function keepLast(output: string): string {
  if (output.length <= keptLength) return output;
  const cut = output.slice(-keptLength);
  const lineEnd = cut.indexOf("\n");
  return lineEnd === -1 ? "" : cut.slice(lineEnd + 1);
}

function childEnvironment(): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "USER", "LANG", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];
  const kept = ["DOCKER_HOST", "DOCKER_CONFIG", "KUBECONFIG"];
  return Object.fromEntries([...names, ...kept].map((name) => [name, process.env[name]]));
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended by itself.
  }
}

function quoteLast(output: string, secrets: readonly string[]): string {
  const last = output.trim().split("\n").pop()?.trim() ?? "";
  const safe = secrets.reduce((text, secret) => text.replaceAll(secret, "[secret]"), last);
  return safe === "" ? "" : `: ${safe.replaceAll(/\p{Cc}+/gu, " ").slice(0, 300)}`;
}
