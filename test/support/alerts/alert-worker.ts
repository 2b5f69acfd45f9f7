/** The delivery of alerts in a process that can be killed. Prints a line when it is ready; each line that it reads wakes it. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { Registry } from "prom-client";
import { createAlertServices } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { readActor } from "../signed-call.ts";
import { noLinks } from "./alert-builders.ts";
import type { AlertWorkerSettings } from "./alert-workers.ts";

const settings = JSON.parse(process.argv[2] ?? "") as AlertWorkerSettings;
const log = createLog({ level: "silent", format: "json" });
const source = {
  source_id: settings.sourceId,
  source_kind: "checkly",
  token: settings.token,
  token_file: "",
} as const;
const { delivery } = createAlertServices({
  send: async () => ({ kind: "unconfigured" }),
  webhookUrlOf: () => "",
  channelsOf: () => [],
  readChannels: async () => [],
  sourceOf: createSourceOf(settings.receiverUrl, { production: source, staging: source }),
  linkTo: noLinks,
  attemptTimeoutMs: 1_000,
  giveUpAfterMs: 3_600_000,
  keepDays: 30,
  database: openDatabase(settings.databaseUrl, log),
  recordAccepted: async () => {},
  notifyDrill: async () => {},
  registry: new Registry(),
  log,
  readActor,
});
let isStarted = false;
createInterface(process.stdin).on("line", () => {
  if (!isStarted) delivery.start();
  isStarted = true;
  delivery.wake();
});
process.stdout.write("ready\n");
// Node would do it at an orderly end, which no test allows: the next worker starts in half of the time.
flushCompileCache();
