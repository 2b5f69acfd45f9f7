/** Heartbeats and the delivery of their alerts, in a process that can be killed. Prints its port. */
import { flushCompileCache } from "node:module";
import { Registry } from "prom-client";
import { createAlertDelivery } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createHeartbeatObject } from "#monitor/heartbeat/object.ts";
import { createRecordsObject } from "#monitor/records.ts";
import { createResultWriter } from "#monitor/results/record.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { always } from "../monitor/standard-definitions.ts";
import { readActor } from "../signed-call.ts";
import { noLinks } from "./alert-builders.ts";
import { type AlertWorkerSettings, heartbeatsOf } from "./alert-workers.ts";

const settings = JSON.parse(process.argv[2] ?? "") as AlertWorkerSettings;
const log = createLog({ level: "silent", format: "json" });
const database = openDatabase(settings.databaseUrl, log);
const readDefinitions = always({ heartbeats: heartbeatsOf(settings) });
const recorder = createResultWriter(database);
const source = {
  source_id: settings.sourceId,
  source_kind: "checkly",
  token: settings.token,
  token_file: "",
} as const;
const { url } = await serveEndpoint({
  host: "127.0.0.1",
  port: 0,
  identityKeys: [],
  log,
  services: [
    createHeartbeatObject({
      readDefinitions,
      recorder,
      readActor,
      readRollout: async () => null,
      inbox: createInbox({ database, readDefinitions, recordPings: recorder.pings }),
      adopt: createDeadlines(database).adopt,
      pingUrl: null,
    }),
    createRecordsObject(recorder),
    ...createAlertDelivery({
      send: async () => ({ kind: "unconfigured" }),
      webhookUrlOf: () => "",
      channelsOf: () => [],
      readChannels: async () => [],
      sourceOf: createSourceOf(settings.receiverUrl, { production: source, staging: source }),
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
