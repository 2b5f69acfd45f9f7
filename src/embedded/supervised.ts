/** Supervises a server process: starts it, restarts it when it exits, and ends it. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import getPort from "get-port";
import pRetry from "p-retry";
import { unlessAborted } from "#kernel/async.ts";
import { writeFileAtomically } from "#kernel/files.ts";
import type { Log } from "#kernel/log.ts";
import {
  endProcess,
  identifyProcess,
  isAlive,
  type ProcessIdentity,
  signalProcess,
} from "#kernel/process.ts";
import { portTaken } from "#kernel/server.ts";
import { readIdentity } from "./running.ts";

const host = "127.0.0.1";

/** The port to use: `wanted`, or a free one for 0. Throws `portTaken` when it is in use. */
export async function takePort(wanted: number, setting: string): Promise<number> {
  if (wanted === 0) return getPort({ host });
  const isFree = await canListen(wanted);
  if (isFree) return wanted;
  throw portTaken(wanted, setting);
}

/** Retries when another program took the chosen free port before the server listened on it. */
export function startOnFreePorts<T>(start: () => Promise<T>): Promise<T> {
  return pRetry(start, {
    retries: 2,
    minTimeout: 50,
    shouldRetry: ({ error }) => /address (?:already )?in use/i.test(error.message),
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

export type ServerProgram = {
  /** Name for log lines and errors, for example `restate`. */
  name: string;
  /** Names the running process, for the next start after a crash of ours. */
  pidFile: string;
  /** `detached`, with stderr piped: a Ctrl-C on the terminal must not end it while other parts still need it. */
  launch: () => ChildProcess;
  /** True if the server is ready; polled until it is. Throws errors that waiting doesn't fix. */
  isReady: () => Promise<boolean>;
  readyWithinMs: number;
  /** True if the cause of a failed start is temporary, by the server's last output: it is then retried. */
  isTransient?: (lastOutput: string) => boolean;
  /** Makes the server shut down in an orderly way. */
  stopSignal: NodeJS.Signals;
  stopWithinMs: number;
  log: Log;
  /** Aborts the first start. */
  signal?: AbortSignal | undefined;
};

export type SupervisedServer = { pid: () => number; stop: () => Promise<void> };

/** Ends the server that an earlier, killed run left running, if any. */
export async function endLeftover(
  program: Pick<ServerProgram, "pidFile" | "stopSignal" | "stopWithinMs">,
): Promise<void> {
  const leftover = readIdentity(program.pidFile);
  if (leftover !== undefined) {
    await endProcess(leftover, { signal: program.stopSignal, graceMs: program.stopWithinMs });
  }
  rmSync(program.pidFile, { force: true });
}

/** Keeps the server running until `stop`. Throws its last output if the first start fails; later ones are retried. */
export async function superviseServer(program: ServerProgram): Promise<SupervisedServer> {
  const stopping = new AbortController();
  let current = await startFirst(program);
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const ending = await current.ended;
      if (stopping.signal.aborted) return;
      const fields = { server: program.name, ending, last_words: current.lastOutput() };
      program.log.warn(fields, "server ended unasked, starting it again");
      current = (await startAgain(program, stopping.signal)) ?? current;
    }
  };
  const watched = watch();
  const stop = async () => {
    stopping.abort();
    await end(program, current);
    // A restart that had begun before the stop may have started another process.
    await watched;
    await end(program, current);
  };
  let stopped: Promise<void> | undefined;
  return {
    pid: () => current.identity.pid,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
}

function isNamed(pidFile: string, { pid, startedAt }: ProcessIdentity): boolean {
  const named = readIdentity(pidFile);
  return named?.pid === pid && named.startedAt === startedAt;
}

type Supervision = {
  identity: ProcessIdentity;
  /** Resolves when it ends, with a description of how. */
  ended: Promise<string>;
  lastOutput: () => string;
};

function startFirst(program: ServerProgram): Promise<Supervision> {
  const { signal } = program;
  return pRetry(() => startOnce(program, signal), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 50,
    maxTimeout: 500,
    maxRetryTime: program.readyWithinMs,
    shouldRetry: ({ error }) => program.isTransient?.(error.message) === true,
  });
}

/** Resolves with undefined when the supervision is stopped first. */
async function startAgain(
  program: ServerProgram,
  signal: AbortSignal,
): Promise<Supervision | undefined> {
  try {
    const running = await pRetry(() => startOnce(program, signal), {
      retries: Number.POSITIVE_INFINITY,
      minTimeout: 100,
      maxTimeout: 5_000,
      signal,
      onFailedAttempt: ({ error }) => {
        const level = program.isTransient?.(error.message) === true ? "debug" : "error";
        program.log[level]({ server: program.name, err: error }, "server did not start again");
      },
    });
    program.log.info({ server: program.name, pid: running.identity.pid }, "server restarted");
    return running;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}

async function startOnce(
  program: ServerProgram,
  signal: AbortSignal | undefined,
): Promise<Supervision> {
  signal?.throwIfAborted();
  const child = program.launch();
  const lastOutput = collectOutput(child, program);
  const ended = awaitEnd(child);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity === undefined) throw startError(program, await ended, lastOutput());
  const running = { identity, ended, lastOutput };
  const unregister = signalAtExit(() => signalProcess(identity, program.stopSignal));
  void ended.then(unregister);
  try {
    writeFileAtomically(program.pidFile, JSON.stringify(identity));
    await becomeReady(program, running, signal);
  } catch (error) {
    await end(program, running);
    throw error;
  }
  return running;
}

async function becomeReady(
  program: ServerProgram,
  running: Supervision,
  signal: AbortSignal | undefined,
): Promise<void> {
  const deadline = performance.now() + program.readyWithinMs;
  while (performance.now() < deadline) {
    // A process that has ended is not ready, even if another one answers on its port.
    const isReady = await unlessAborted(program.isReady(), signal);
    if (!isAlive(running.identity)) {
      throw startError(program, await running.ended, running.lastOutput());
    }
    if (isReady) return;
    await delay(20);
  }
  const ms = program.readyWithinMs;
  throw startError(program, `it did not answer within ${ms} ms`, running.lastOutput());
}

async function end(program: ServerProgram, { identity }: Supervision): Promise<void> {
  const { pidFile, stopSignal, stopWithinMs } = program;
  await endProcess(identity, { signal: stopSignal, graceMs: stopWithinMs });
  // If another program took over the data directory, the file may name that program's server.
  if (isNamed(pidFile, identity)) rmSync(pidFile, { force: true });
}

async function awaitEnd(child: ChildProcess): Promise<string> {
  const streamsClosed = once(child, "close").catch(() => []);
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    // Its last output may arrive after the exit; its own children may keep the stream open longer.
    await Promise.race([streamsClosed, delay(200)]);
    return signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function startError(program: ServerProgram, ending: string, lastOutput: string): Error {
  const output = lastOutput === "" ? "" : `; its last output: ${lastOutput}`;
  return new Error(`${program.name} did not start: ${ending}${output}`);
}

/** Keeps the last lines that the server prints to stderr, for errors and log lines. */
function collectOutput(child: ChildProcess, program: ServerProgram): () => string {
  const lines: string[] = [];
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      program.log.debug({ server: program.name, line }, "server output");
      lines.push(line.trim().slice(0, 500));
      if (lines.length > 5) lines.shift();
    });
  }
  return () => lines.filter((line) => line !== "").join(" | ");
}

/** Signals to servers that still run when the program exits without having stopped them; they then shut down. */
const signals = new Set<() => void>();

process.on("exit", () => {
  for (const signal of signals) signal();
});

/** Calls `signal`, without waiting, when the program exits before the returned function was called. */
function signalAtExit(signal: () => void): () => void {
  signals.add(signal);
  return () => signals.delete(signal);
}
