/** Processes of one role each, as they are run in production, at ports that they keep over a restart. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

export type Role = "api" | "control" | "worker";

export type Replica = Awaited<ReturnType<typeof startReplica>>;

/** A test run that ends in the middle leaves nothing behind. */
const running = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** `tree`: the folder of the program's version; `port`: where the role serves. Ready once it returns. */
export async function startReplica(
  { tree, role, port }: { tree: string; role: Role; port: number },
  environment: Record<string, string>,
) {
  const dir = makeTempDir();
  const metrics = await freePort();
  let child: ChildProcess;
  let output = "";

  const start = async () => {
    const started = spawn(
      process.execPath,
      [path.join(tree, "src/main.ts"), "start", "--role", role],
      {
        env: {
          PATH: process.env["PATH"],
          NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
          VEDETTE_DATA_DIR: dir.path,
          [`VEDETTE_${role.toUpperCase()}__PORT`]: String(port),
          VEDETTE_METRICS__PORT: String(metrics),
          ...environment,
        },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    child = started;
    running.add(started);
    started.once("exit", () => running.delete(started));
    const keep = (chunk: Buffer) => {
      output += chunk.toString();
    };
    started.stdout.on("data", keep);
    started.stderr.on("data", keep);
    const what = `${role} at ${port} to be ready`;
    await waitFor(() => hasEnded(started) || isReady(metrics), { withinMs: 60_000, what });
    if (hasEnded(started)) throw new Error(`${what}: it ended: ${output.slice(-4_000)}`);
  };

  const end = async (signal: "SIGKILL" | "SIGTERM") => {
    if (hasEnded(child)) return;
    const closed = once(child, "close");
    child.kill(signal);
    await closed;
  };

  await start();
  return {
    role,
    port,
    output: () => output,
    killAndRestart: async () => {
      await end("SIGKILL");
      await start();
    },
    /** As a deploy of a later version does; returns its exit code. */
    stop: async () => {
      await end("SIGTERM");
      dir.remove();
      return child.exitCode;
    },
  };
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) =>
  exitCode !== null || signalCode !== null;

async function isReady(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
  } catch {
    return false;
  }
}
