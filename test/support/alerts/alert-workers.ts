/** Starts processes of `alert-worker.ts`: one that delivers, and one that is ready to take over. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export type AlertWorkerSettings = {
  databaseUrl: string;
  receiverUrl: string;
  sourceId: string;
  token: string;
};

const entry = fileURLToPath(new URL("alert-worker.ts", import.meta.url));

/** A worker does nothing before it is woken for the first time. */
async function startAlertWorker(settings: AlertWorkerSettings) {
  const child = spawn(process.execPath, [entry, JSON.stringify(settings)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => {});
  await once(child.stdout, "data");
  return {
    wake: () => void child.stdin.write("\n"),
    /** Ends it as a power failure would. */
    kill9: () => void child.kill("SIGKILL"),
  };
}

export async function startAlertWorkers(settings: AlertWorkerSettings) {
  let serving = await startAlertWorker(settings);
  let spare = startAlertWorker(settings);
  return {
    wake: () => serving.wake(),
    kill9: () => serving.kill9(),
    /** Answers once another one delivers. */
    replace: async () => {
      serving = await spare;
      serving.wake();
      spare = startAlertWorker(settings);
    },
    stop: async () => {
      serving.kill9();
      (await spare).kill9();
    },
  };
}
