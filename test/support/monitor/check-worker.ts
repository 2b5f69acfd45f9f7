/** An API check with the delivery of its alerts, in a process that can be killed. Prints a line when it has started. */
import { flushCompileCache } from "node:module";
import { Registry } from "prom-client";
import { createAlertServices } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { startMonitor } from "#monitor/start.ts";
import { createOwner } from "#monitor/state/owner.ts";
import { noLinks } from "../alerts/alert-builders.ts";
import { readActor } from "../signed-call.ts";
import { anApiCheck } from "./check-builders.ts";
import { always } from "./standard-definitions.ts";

export type CheckWorkerSettings = {
  databaseUrl: string;
  targetUrl: string;
  receiver: { url: string; sourceId: string; token: string };
};

const settings = JSON.parse(process.argv[2] ?? "") as CheckWorkerSettings;
const { receiver } = settings;
const log = createLog({ level: "silent", format: "json" });
const database = openDatabase(settings.databaseUrl, log);
const readDefinitions = always({
  apiChecks: [anApiCheck({ id: "probe", frequencySeconds: 1 })],
});
const source = {
  source_id: receiver.sourceId,
  source_kind: "checkly",
  token: receiver.token,
  token_file: "",
} as const;
const { delivery, sendNow } = createAlertServices({
  send: async () => ({ kind: "unconfigured" }),
  webhookUrlOf: () => "",
  channelsOf: () => [],
  readChannels: async () => [],
  sourceOf: createSourceOf(receiver.url, { production: source, staging: source }),
  linkTo: noLinks,
  attemptTimeoutMs: 1_000,
  giveUpAfterMs: 3_600_000,
  keepDays: 30,
  database,
  recordAccepted: async () => {},
  notifyDrill: async () => {},
  registry: new Registry(),
  readActor,
  log,
});
const owner = createOwner({
  database,
  readDefinitions,
  whyOff: () => [],
  readRollout: async () => null,
  readBlame: async () => () => [],
  readFurther: async () => [],
  settings: { location: "local", failedAtPercent: 0, runsHere: true },
  runCheck: createRunCheck({
    probe: createProbe(),
    target: { baseUrl: settings.targetUrl, readSecret: () => undefined },
    location: "local",
    nowMs: Date.now,
  }),
  sendNow,
  wakeDelivery: delivery.wake,
  count: () => {},
  log,
});
delivery.start();
// Without drills Restate is not called.
await startMonitor("", { readDefinitions, ...owner, log });
process.stdout.write("started\n");
// Node would do it at an orderly end, which no test allows: the next worker starts in half of the time.
flushCompileCache();
