/** Supervises the process of the embedded store: starts it, and restarts it when it ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { backoffMs, pause } from "#kernel/async.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import type { Log } from "#kernel/log.ts";
import { endProcess, identifyProcess, type ProcessIdentity, programFile } from "#kernel/process.ts";
import type { EmbeddedServerMessage } from "./embedded-server.ts";
import type { EngineAddress } from "./engine-client.ts";

export type EmbeddedEngineSettings = {
  dataDir: string;
  log: Log;
  /** Called after each start. */
  onReady: (address: EngineAddress) => void;
  /** Called when it has ended and will be restarted. */
  onAway: () => void;
  /** Called when the engine is not installed on this machine. */
  onAbsent: (reason: string) => void;
};

export type EmbeddedEngine = { pid: () => number | undefined; stop: () => Promise<void> };

const entry = programFile("#api/analytics/engine/embedded-server.ts");
const readyWithinMs = 60_000;
const restarts = { firstMs: 100, longestMs: 5_000 };
/** A confirmed insert is on disk: killing the process loses nothing. */
const endWithinMs = 5_000;

/** Returns at once; calls the callbacks later. */
export function startEmbeddedEngine(settings: EmbeddedEngineSettings): EmbeddedEngine {
  const stopping = new AbortController();
  const directory = path.join(settings.dataDir, "analytics");
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  let child: ChildProcess | undefined;
  const launch = (): ChildProcess => {
    child = launchServer(directory);
    return child;
  };
  const kept = keepRunning({ settings, launch, signal: stopping.signal });
  return {
    pid: () => child?.pid,
    stop: async () => {
      stopping.abort();
      // It ends when the channel closes, unless its native code blocks.
      if (child?.connected === true) child.disconnect();
      const late = setTimeout(() => child?.kill("SIGKILL"), endWithinMs);
      await kept.finally(() => clearTimeout(late));
    },
  };
}

type EngineProcess = {
  settings: EmbeddedEngineSettings;
  launch: () => ChildProcess;
  signal: AbortSignal;
};

async function keepRunning({ settings, launch, signal }: EngineProcess): Promise<void> {
  const pidFile = pidFileIn(settings.dataDir);
  for (let failures = 0; !signal.aborted; failures += 1) {
    const child = launch();
    const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
    if (identity !== undefined) writeFileAtomically(pidFile, JSON.stringify(identity));
    const readOutput = collectOutput(child);
    const ended = once(child, "exit").catch(() => []);
    const isReady = await handshake(child, settings);
    if (isReady === "absent") break;
    if (isReady === "ready") failures = 0;
    else child.kill("SIGKILL");
    await ended;
    if (signal.aborted) break;
    settings.onAway();
    settings.log.warn({ pid: child.pid, last_words: readOutput() }, "analytics engine ended");
    await pause(backoffMs(failures, restarts), signal);
  }
  await endLeftoverEngine(settings);
}

function pidFileIn(dataDir: string): string {
  return path.join(dataDir, "analytics.pid.json");
}

function launchServer(directory: string): ChildProcess {
  return spawn(process.execPath, [entry, directory], {
    // Without the settings, which hold secrets that it does not need.
    env: {
      PATH: process.env["PATH"],
      TZ: "UTC",
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    detached: true,
  });
}

/** Sends it the password, and waits for its port. */
async function handshake(
  child: ChildProcess,
  { onReady, onAbsent, log }: EmbeddedEngineSettings,
): Promise<"ready" | "absent" | "failed"> {
  const password = randomBytes(32).toString("base64url");
  const giveUp = AbortSignal.timeout(readyWithinMs);
  try {
    child.send(password);
    const answered = once(child, "message", { signal: giveUp });
    const ended = once(child, "exit", { signal: giveUp }).then(() => undefined);
    const answer = await Promise.race([answered, ended]);
    if (answer === undefined) return "failed";
    const message = answer[0] as EmbeddedServerMessage;
    if ("absent" in message) {
      log.warn({ reason: message.absent }, "analytics are off: the embedded engine is missing");
      onAbsent(message.absent);
      return "absent";
    }
    onReady({ url: `http://127.0.0.1:${message.port}`, password });
    return "ready";
  } catch (err) {
    log.warn({ err }, "analytics engine did not start");
    return "failed";
  }
}

/** Ends the process that an earlier, killed run may have left: two must not use the directory at once. */
export async function endLeftoverEngine({ dataDir }: { dataDir: string }): Promise<void> {
  const pidFile = pidFileIn(dataDir);
  const identity = readIdentity(pidFile);
  if (identity !== undefined) await endProcess(identity, { signal: "SIGTERM", graceMs: 5_000 });
  rmSync(pidFile, { force: true });
}

function readIdentity(pidFile: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(pidFile, "utf8")) as ProcessIdentity;
  } catch {
    return undefined;
  }
}

/** Collects the end of its stderr, which may explain why it ended. */
function collectOutput(child: ChildProcess): () => string {
  let output = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    output = `${output}${chunk.toString()}`.slice(-2_000);
  });
  return () => output.trim();
}
