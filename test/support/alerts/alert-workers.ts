/** Starts processes of `alert-worker.ts`: one that serves, and one that is ready to take over. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Heartbeat } from "#monitor/contract.ts";
import { aHeartbeat } from "../monitor/check-builders.ts";

export type AlertWorkerSettings = {
  databaseUrl: string;
  receiverUrl: string;
  sourceId: string;
  token: string;
  /** How many there are, */
  heartbeats: number;
  /** but for these, which are defined no longer. */
  removed?: readonly string[];
};

/** `job-0`, `job-1` and so on; none of them is due while a test runs. */
export function heartbeatsOf({
  heartbeats: count,
  removed = [],
}: Pick<AlertWorkerSettings, "heartbeats" | "removed">): Heartbeat[] {
  return Array.from({ length: count }, (_, i) =>
    aHeartbeat({ id: `job-${i}`, name: `Job ${i}` }),
  ).filter(({ id }) => !removed.includes(id));
}

const entry = fileURLToPath(new URL("alert-worker.ts", import.meta.url));

type Worker = { child: ChildProcess; port: number };

export async function startAlertWorkers(settings: AlertWorkerSettings) {
  const removed: string[] = [];
  const start = async (): Promise<Worker> => {
    const child = spawn(process.execPath, [entry, JSON.stringify({ ...settings, removed })], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    return { child, port: Number(line.toString()) };
  };
  let serving = await start();
  let spare = start();
  return {
    port: () => serving.port,
    /** Ends the one that serves as a power failure would. */
    kill9: () => void serving.child.kill("SIGKILL"),
    /** Answers once another one serves. */
    replace: async () => {
      serving = await spare;
      spare = start();
      return serving.port;
    },
    /** Answers once one serves that does not define this heartbeat, as those after it. */
    replaceWithout: async (id: string) => {
      removed.push(id);
      for (const { child } of [serving, await spare]) child.kill("SIGKILL");
      serving = await start();
      spare = start();
      return serving.port;
    },
    stop: async () => {
      for (const { child } of [serving, await spare]) child.kill("SIGKILL");
    },
  };
}
