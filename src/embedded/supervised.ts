/** A server process that is kept running: started, watched, started again, ended. */
import type { ChildProcess } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Log } from "#kernel/log.ts";
import { endProcess, identifyProcess, type ProcessIdentity } from "#kernel/owned-process.ts";

export type ServerProgram = {
  /** For log lines and errors, for example `restate`. */
  name: string;
  /** Where the running process is written down, for a start after a crash of ours. */
  pidFile: string;
  /** Starts the process with stdout and stderr piped. */
  launch: () => ChildProcess;
  /** Resolves once the server does its work; called again and again until then. */
  isReady: () => Promise<boolean>;
  readyWithinMs: number;
  /** The polite way to end it. */
  stopSignal: NodeJS.Signals;
  stopWithinMs: number;
  log: Log;
};

export type SupervisedServer = { pid: () => number; stop: () => Promise<void> };

const restartDelaysMs = [0, 200, 500, 1_000, 2_000];

/** Ends what an earlier, killed run left behind, if anything. */
export async function endLeftover(
  program: Pick<ServerProgram, "pidFile" | "stopSignal" | "stopWithinMs">,
): Promise<void> {
  const leftover = readPidFile(program.pidFile);
  if (leftover === undefined) return;
  await endProcess(leftover, { signal: program.stopSignal, graceMs: program.stopWithinMs });
  rmSync(program.pidFile, { force: true });
}

/**
 * Starts the server and keeps it running until `stop`. Throws with the server's last words when
 * the first start fails; later it is started again for as long as it takes.
 */
export async function superviseServer(program: ServerProgram): Promise<SupervisedServer> {
  let isStopping = false;
  let current = await startOnce(program);
  const watched = (async () => {
    for (;;) {
      await current.ended;
      if (isStopping) return;
      program.log.warn({ server: program.name }, "server ended unasked, starting it again");
      current = await startAgain(program, () => isStopping);
    }
  })();
  const stop = async () => {
    isStopping = true;
    const { stopSignal: signal, stopWithinMs: graceMs } = program;
    await endProcess(current.identity, { signal, graceMs });
    await watched;
    rmSync(program.pidFile, { force: true });
  };
  return { pid: () => current.identity.pid, stop };
}

type Running = { identity: ProcessIdentity; ended: Promise<void> };

async function startAgain(program: ServerProgram, isStopping: () => boolean): Promise<Running> {
  for (let attempt = 0; ; attempt++) {
    await delay(restartDelaysMs[attempt] ?? restartDelaysMs.at(-1));
    try {
      const running = await startOnce(program);
      program.log.info({ server: program.name }, "server restarted");
      return running;
    } catch (error) {
      if (isStopping()) return { identity: { pid: 0, startedAt: "" }, ended: Promise.resolve() };
      program.log.error({ server: program.name, err: error }, "server did not start");
    }
  }
}

async function startOnce(program: ServerProgram): Promise<Running> {
  const child = program.launch();
  const lastWords = collectOutput(child);
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity === undefined) throw startError(program, lastWords());
  writeFileSync(program.pidFile, JSON.stringify(identity), { mode: 0o600 });
  if (await becomesReady(program, ended)) return { identity, ended };
  await endProcess(identity, { signal: "SIGKILL", graceMs: 0 });
  throw startError(program, lastWords());
}

async function becomesReady(program: ServerProgram, ended: Promise<void>): Promise<boolean> {
  const deadline = Date.now() + program.readyWithinMs;
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  while (!hasEnded && Date.now() < deadline) {
    if (await program.isReady()) return true;
    await delay(20);
  }
  return false;
}

function startError(program: ServerProgram, lastWords: string): Error {
  const words = lastWords === "" ? "it said nothing" : `its last words: ${lastWords}`;
  return new Error(`${program.name} did not start; ${words}`);
}

/** Keeps the last lines of what the server says, so that a failed start can be explained. */
function collectOutput(child: ChildProcess): () => string {
  let tail = "";
  const keep = (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-2_000);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  child.on("error", (error) => keep(Buffer.from(error.message)));
  return () => tail.trim().split("\n").slice(-5).join(" | ");
}

const PidFile = z.object({ pid: z.int().positive(), startedAt: z.string() });

function readPidFile(path: string): ProcessIdentity | undefined {
  try {
    return PidFile.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Absent, or cut short by a crash while it was written: then nothing is known to be left over.
    return undefined;
  }
}
