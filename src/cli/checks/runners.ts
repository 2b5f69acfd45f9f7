/** `vedette runners`: which runners may report from further locations. */
import { existsSync, readFileSync } from "node:fs";
import { startMonitorRunner } from "#app/runner.ts";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { print, printAnswer, printJson } from "#cli/print.ts";
import { untilStopSignal } from "#cli/start.ts";
import { createTable, plain } from "#cli/table.ts";
import { warnOfHttp } from "#cli/target.ts";
import { makeToken, registerToken } from "#cli/token.ts";
import { readConfig } from "#config.ts";
import { readSecretVariable } from "#kernel/files.ts";
import { createLog } from "#kernel/log.ts";
import { formatUtc } from "#kernel/time.ts";
import { callerWords } from "#kernel/words.ts";
import { runnerHandlers, runnerService } from "#monitor/operations/contract.ts";

/** The command generates the token: Vedette stores only its hash. */
export async function addRunner(location: string, options: GlobalOptions): Promise<number> {
  const { token, hash } = makeToken();
  const { output } = runnerHandlers.Add;
  const body = { location, token_hash: hash };
  const { replaced } = await registerToken(token, () =>
    connect(options).call(`${runnerService}/Add`, body, output),
  );
  return printAnswer(
    { location, token, replaced },
    options.json,
    () => `${token}\n${replaced ? "The earlier token is void. " : ""}${how(location)}`,
  );
}

function how(location: string): string {
  return `Save it: it is shown once. At the location: VEDETTE_RUNNER_TOKEN=… vedette monitor-runner --location ${location} --control …`;
}

export async function removeRunner(location: string, options: GlobalOptions): Promise<number> {
  const { output } = runnerHandlers.Remove;
  const removed = await connect(options).call(`${runnerService}/Remove`, { location }, output);
  return printAnswer(
    removed,
    options.json,
    () => `${location} is removed: its reports are no longer expected`,
  );
}

export async function listRunners(options: GlobalOptions): Promise<number> {
  const { output } = runnerHandlers.List;
  const { runners } = await connect(options).call(`${runnerService}/List`, {}, output);
  if (options.json) printJson({ runners });
  else {
    const table = createTable(["location", "added", "by", "last seen"]);
    for (const { location, created_at, added_by, seen_at } of runners) {
      const by = plain(callerWords(added_by));
      table.push([location, formatUtc(created_at), by, formatUtc(seen_at) || "never"]);
    }
    print(String(table));
  }
  return 0;
}

// `vedette monitor-runner`: runs the checks from a further location until SIGTERM or SIGINT.

type RunnerOptions = { location: string; control: string; tokenFile?: string; config?: string };

/** Exit code 0 after a stop signal. */
export async function runMonitorRunner(options: RunnerOptions): Promise<number> {
  const config = readConfig({ file: options.config, environment: process.env });
  const log = createLog(config.log);
  const token = readToken(options.tokenFile);
  const stopSignal = untilStopSignal();
  const { location, control } = options;
  warnOfHttp(new URL(control));
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
