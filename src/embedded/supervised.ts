/** A server process that is kept running: started, watched, started again, ended. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import pRetry from "p-retry";
import { writeFileAtomically } from "#kernel/atomic-file.ts";
import type { Log } from "#kernel/log.ts";
import {
  endProcess,
  identifyProcess,
  isAlive,
  type ProcessIdentity,
  signalProcess,
} from "#kernel/owned-process.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import { askAtExit } from "./end-with-us.ts";
import { readIdentity } from "./identity-file.ts";

export type ServerProgram = {
  /** For log lines and errors, for example `restate`. */
  name: string;
  /** Where the running process is written down, for a start after a crash of ours. */
  pidFile: string;
  /**
   * Starts the process with stderr piped and `detached`: a Ctrl-C on the terminal would reach it
   * otherwise at the same moment as us, and end it under the parts that still need it.
   */
  launch: () => ChildProcess;
  /** Whether the server does its work; asked until it does. Throws what waiting will not mend. */
  isReady: () => Promise<boolean>;
  readyWithinMs: number;
  /** Whether a start that failed with these last words is worth another try at once. */
  isPassing?: (lastWords: string) => boolean;
  /** The polite way to end it. */
  stopSignal: NodeJS.Signals;
  stopWithinMs: number;
  log: Log;
  /** Aborted when it is no longer wanted, while it starts for the first time. */
  signal?: AbortSignal | undefined;
};

export type SupervisedServer = { pid: () => number; stop: () => Promise<void> };

/** Ends what an earlier, killed run left behind, if anything. */
export async function endLeftover(
  program: Pick<ServerProgram, "pidFile" | "stopSignal" | "stopWithinMs">,
): Promise<void> {
  const leftover = readIdentity(program.pidFile);
  if (leftover !== undefined) {
    await endProcess(leftover, { signal: program.stopSignal, graceMs: program.stopWithinMs });
  }
  rmSync(program.pidFile, { force: true });
}

/**
 * Starts the server and keeps it running until `stop`. Throws with the server's last words when
 * the first start fails; later it is started again for as long as it takes.
 */
export async function superviseServer(program: ServerProgram): Promise<SupervisedServer> {
  const stopping = new AbortController();
  let current = await startFirst(program);
  const watch = async () => {
    while (!stopping.signal.aborted) {
      const ending = await current.ended;
      if (stopping.signal.aborted) return;
      const fields = { server: program.name, ending, last_words: current.lastWords() };
      program.log.warn(fields, "server ended unasked, starting it again");
      current = (await startAgain(program, stopping.signal)) ?? current;
    }
  };
  const watched = watch();
  const stop = async () => {
    stopping.abort();
    await end(program, current);
    // A restart that was under way when the stop came has put another process in place.
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
  /** How it ended, in words. */
  ended: Promise<string>;
  lastWords: () => string;
};

function startFirst(program: ServerProgram): Promise<Supervision> {
  const { signal } = program;
  return pRetry(() => startOnce(program, signal), {
    retries: Number.POSITIVE_INFINITY,
    minTimeout: 50,
    maxTimeout: 500,
    maxRetryTime: program.readyWithinMs,
    shouldRetry: ({ error }) => program.isPassing?.(error.message) === true,
  });
}

/** Resolves with nothing when the stop comes first. */
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
        const level = program.isPassing?.(error.message) === true ? "debug" : "error";
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
  const lastWords = collectOutput(child, program);
  const ended = awaitEnd(child);
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  if (identity === undefined) throw startError(program, await ended, lastWords());
  const running = { identity, ended, lastWords };
  const forget = askAtExit(() => signalProcess(identity, program.stopSignal));
  void ended.then(forget);
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
    // One that has ended is not ready, whoever answers in its place.
    const isReady = await unlessAborted(program.isReady(), signal);
    if (!isAlive(running.identity)) {
      throw startError(program, await running.ended, running.lastWords());
    }
    if (isReady) return;
    await delay(20);
  }
  const ms = program.readyWithinMs;
  throw startError(program, `it did not answer within ${ms} ms`, running.lastWords());
}

async function end(program: ServerProgram, { identity }: Supervision): Promise<void> {
  const { pidFile, stopSignal, stopWithinMs } = program;
  await endProcess(identity, { signal: stopSignal, graceMs: stopWithinMs });
  // Where the data directory was lost it may name the server of the program that has it now.
  if (isNamed(pidFile, identity)) rmSync(pidFile, { force: true });
}

async function awaitEnd(child: ChildProcess): Promise<string> {
  const streamsClosed = once(child, "close").catch(() => []);
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    // Its last words may come after its end; children of its own may keep the stream open longer.
    await Promise.race([streamsClosed, delay(200)]);
    return signal === null ? `it exited with code ${code}` : `it was ended by ${signal}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function startError(program: ServerProgram, ending: string, lastWords: string): Error {
  const words = lastWords === "" ? "" : `; its last words: ${lastWords}`;
  return new Error(`${program.name} did not start: ${ending}${words}`);
}

/** Keeps the last lines of what the server says, so that its end can be explained. */
function collectOutput(child: ChildProcess, program: ServerProgram): () => string {
  const lines: string[] = [];
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      program.log.debug({ server: program.name, line }, "server said");
      lines.push(line.trim().slice(0, 500));
      if (lines.length > 5) lines.shift();
    });
  }
  return () => lines.filter((line) => line !== "").join(" | ");
}
