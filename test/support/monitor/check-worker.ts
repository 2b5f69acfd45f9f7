/** An API check with the delivery of its alerts, in a process that can be killed. Prints its port. */
import { flushCompileCache } from "node:module";
import { Registry } from "prom-client";
import { createAlertDelivery } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createResultWriter } from "#monitor/results/record.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { noLinks } from "../alerts/alert-builders.ts";
import { readActor } from "../signed-call.ts";
import { anApiCheck } from "./check-builders.ts";
import { always } from "./standard-definitions.ts";

export type CheckWorkerSettings = {
  /** 0: a free one. */
  port: number;
  databaseUrl: string;
  targetUrl: string;
  receiver: { url: string; sourceId: string; token: string };
};

const settings = JSON.parse(process.argv[2] ?? "") as CheckWorkerSettings;
const { receiver } = settings;
const log = createLog({ level: "silent", format: "json" });
const database = openDatabase(settings.databaseUrl, log);
const recorder = createResultWriter(database);
const readDefinitions = always({
  apiChecks: [anApiCheck({ id: "probe", frequencySeconds: 1 })],
});
const source = {
  source_id: receiver.sourceId,
  source_kind: "checkly",
  token: receiver.token,
  token_file: "",
} as const;
const { url } = await serveEndpoint({
  host: "127.0.0.1",
  port: settings.port,
  identityKeys: [],
  log,
  services: [
    ...createMonitorServices({
      readDefinitions,
      recorder,
      readActor,
      readRollout: async () => null,
      failedAtPercent: 0,
      location: "local",
      runCheck: createRunCheck({
        probe: createProbe(),
        target: { baseUrl: settings.targetUrl, readSecret: () => undefined },
        location: "local",
        nowMs: Date.now,
      }),
      whyOff: () => [],
      runners: createRunners(database),
      inbox: createInbox({ database, readDefinitions, recordPings: recorder.pings }),
      adopt: createDeadlines(database).adopt,
      pingUrl: null,
    }),
    ...createAlertDelivery({
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
      recordAccepted: recorder.delivered,
      notifyDrill: () => {},
      registry: new Registry(),
      readActor,
    }),
  ],
});
process.stdout.write(`${new URL(url).port}\n`);
// Node would do it at an orderly end, which no test allows: the next worker starts in half of the time.
flushCompileCache();
