/** A server of a measurement in a process of its own, so that its processor time and memory are its own. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { failBench } from "./run.ts";

type Child = { flags?: string[]; environment?: Record<string, string> };

/**
 * `program` sends `{ url }`, maybe with its metrics', once it serves. Throws when it ends before that; a bench whose
 * server ends before `stop` has failed.
 */
export async function startChild(program: URL, { flags = [], environment = {} }: Child) {
  const child = fork(fileURLToPath(program), {
    execArgv: flags,
    env: { ...process.env, ...environment },
  });
  const [message] = (await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => {
      throw new Error(`the process ${program.pathname} did not start`);
    }),
  ])) as [{ url: string; metricsUrl?: string }];
  const died = (code: number | null, signal: string | null) =>
    failBench(`${program.pathname} ended in the middle (${signal ?? `exit code ${code}`})`);
  child.once("exit", died);
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.off("exit", died);
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  };
  const [stop, kill9] = [() => end("SIGTERM"), () => end("SIGKILL")];
  return { ...message, pid: child.pid ?? 0, stop, kill9 };
}
