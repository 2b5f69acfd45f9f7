/** Terminals in which somebody follows a document, in one directory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { waitFor } from "../wait-for.ts";

type Place = { cwd: string; env: Record<string, string> };

type Running = { child: ChildProcess; output: () => string; closed: Promise<unknown> };

export function openTerminals(place: Place) {
  const running = new Map<string, Running>();
  const stop = async (terminal: string) => {
    const held = running.get(terminal);
    if (held === undefined) throw new Error(`nothing runs in terminal ${terminal}`);
    running.delete(terminal);
    interrupt(held.child);
    await held.closed;
    return held.output();
  };
  return {
    /** What it says, and its exit code; `input` is what is typed into it. */
    type: async (text: string, input: string) => {
      const typed = run(text, place);
      typed.child.stdin?.end(input);
      await typed.closed;
      return { output: typed.output(), exitCode: typed.child.exitCode };
    },
    /** Resolves once `isReady` says so of what the program has said. */
    start: async (terminal: string, text: string, isReady: (output: string) => boolean) => {
      if (running.has(terminal)) throw new Error(`terminal ${terminal} is in use`);
      const started = run(text, place);
      started.child.stdin?.end();
      running.set(terminal, started);
      const what = `the program in terminal ${terminal} to be ready`;
      await waitFor(() => hasEnded(started.child) || isReady(started.output()), {
        withinMs: 60_000,
        what,
      });
      if (hasEnded(started.child)) throw new Error(`${text}ended: ${started.output()}`);
    },
    stop,
    close: () => Promise.all([...running.keys()].map(stop)),
  };
}

/** In a process group of its own, as a shell's job. */
function run(text: string, { cwd, env }: Place): Running {
  const child = spawn("sh", ["-ec", text], { cwd, env, detached: true });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  // A program that does not read what is typed.
  child.stdin.on("error", () => {});
  return { child, output: () => output, closed: once(child, "close") };
}

/** Ctrl-C: the signal goes to the whole group. */
function interrupt({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGINT");
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}
