/** `vedette monitor-runner`: runs the checks from a further location until SIGTERM or SIGINT. */
import { existsSync, readFileSync } from "node:fs";
import { startMonitorRunner } from "#app/runner.ts";
import { untilStopSignal } from "#cli/stop-signal.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { readSecretVariable } from "#kernel/secret-file.ts";

type RunnerOptions = { location: string; control: string; tokenFile?: string; config?: string };

/** Exit code 0 after a stop signal. */
export async function runMonitorRunner(options: RunnerOptions): Promise<number> {
  const config = readConfig({ file: options.config, environment: process.env });
  const log = createLog(config.log);
  const token = readToken(options.tokenFile);
  const stopSignal = untilStopSignal();
  const { location, control } = options;
  const runner = await startMonitorRunner(config, { control, token, location, log });
  log.info({ location, control }, "runner started");
  await stopSignal;
  await runner.stop();
  log.info("stopped");
  return 0;
}

function readToken(file: string | undefined): string {
  const variable = "VEDETTE_RUNNER_TOKEN";
  const token = file === undefined ? readSecretVariable(process.env, variable) : readFile(file);
  if (token) return token;
  throw new Error(
    "no token: set VEDETTE_RUNNER_TOKEN, or name a file with --token-file; `vedette runners add` creates one",
  );
}

function readFile(file: string): string {
  if (!existsSync(file)) throw new Error(`${file} does not exist`);
  return readFileSync(file, "utf8").trim();
}
