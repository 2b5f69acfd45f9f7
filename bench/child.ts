/** A server of a measurement in a process of its own, so that its processor time and memory are told apart. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

type Child = { flags?: string[]; environment?: Record<string, string> };

/** `program` sends `{ url }`, maybe with its metrics', once it serves. Throws when it ends before that. */
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
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
  return { ...message, pid: child.pid ?? 0, stop };
}
