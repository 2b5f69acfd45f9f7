/** The measured process: the worker with the monitor and the delivery, and the door for pings. */
import { randomBytes } from "node:crypto";
import { implement } from "@restatedev/restate-sdk";
import { Registry } from "prom-client";
import { alertDelivery } from "#alerts/contract.ts";
import { createAlertDelivery } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { createControl } from "#control/control.ts";
import { createReadActor } from "#kernel/actor.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createSendPing, createTakePing } from "#monitor/heartbeat/pings.ts";
import type { Requester } from "#monitor/kinds/request.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createResultWriter } from "#monitor/results/record.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { startMonitor } from "#monitor/start.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { definitionsOf, type NodeSettings } from "./monitor-plan.ts";

const settings = JSON.parse(process.env["BENCH_NODE"] ?? "") as NodeSettings;
const { ingressUrl, receiverUrl } = settings;
const log = createLog({ level: process.env["BENCH_LOG"] ?? "silent", format: "json" });
const host = "127.0.0.1";

const noPhases = { dns: null, connect: null, tls: null, firstByte: null, transfer: null };

/** Returns an answer without making a request. */
const sleepyProbe: Requester = async () => ({
  durationMs: 1,
  phases: noPhases,
  tlsDaysLeft: null,
  outcome: { kind: "response", status: 200, headers: {}, body: "{}" },
});

function deliveryOf(database: Database, recordAccepted: ReturnType<typeof createResultWriter>) {
  const source = {
    source_id: "01BENCH",
    source_kind: "checkly",
    token: "token",
    token_file: "",
  } as const;
  return createAlertDelivery({
    send: async () => ({ kind: "unconfigured" }),
    webhookUrlOf: () => "",
    channelsOf: () => [],
    readChannels: async () => [],
    sourceOf: createSourceOf(receiverUrl, { production: source, staging: source }),
    linkTo: { check: () => undefined, rollout: () => undefined },
    attemptTimeoutMs: 10_000,
    giveUpAfterMs: 86_400_000,
    keepDays: 30,
    database,
    recordAccepted: recordAccepted.delivered,
    notifyDrill: () => {},
    registry: new Registry(),
    readActor: createReadActor(randomBytes(32)),
  });
}

/** Acts as the delivery: an event that arrives here is durable. */
const notingDelivery = implement(alertDelivery, {
  handlers: {
    enqueue: async ({ key }) => {
      process.send?.({ opened: key, atMs: Date.now() });
      return null;
    },
    goOn: async () => null,
  },
});

const database = openDatabase(settings.databaseUrl, log);
const definitions = definitionsOf(settings.plan);
const recorder = createResultWriter(database);
const inbox = createInbox({
  database: openDatabase(settings.databaseUrl, log),
  readDefinitions: async () => definitions,
  recordPings: recorder.pings,
});
const deadlines = createDeadlines(openDatabase(settings.databaseUrl, log));
const endpoint = await serveEndpoint({
  host,
  port: 0,
  identityKeys: [],
  log,
  services: [
    ...createMonitorServices({
      readDefinitions: async () => definitions,
      recorder,
      readActor: createReadActor(randomBytes(32)),
      readRollout: async () => null,
      failedAtPercent: 0,
      location: "local",
      runCheck: createRunCheck({
        probe: settings.isProbing ? createProbe() : sleepyProbe,
        target: {
          baseUrl: settings.targetUrl,
          readSecret: (name) => ({ value: "secret", bindings: [{ name, hosts: undefined }] }),
        },
        location: "local",
        nowMs: Date.now,
      }),
      whyOff: () => [],
      runners: createRunners(database),
      inbox,
      adopt: deadlines.adopt,
      pingUrl: null,
    }),
    ...(settings.isNoting ? [notingDelivery] : deliveryOf(database, recorder)),
  ],
});
const takePing = createTakePing({
  inbox,
  send: createSendPing(ingressUrl),
  log,
  nowMs: Date.now,
});
const control = createControl({
  ingressUrl,
  ingressToken: "token",
  log,
  doors: [createPingDoor(takePing)],
});
const controlUrl = await control.listen({ host, port: 0 });
const heartbeatsOnly = { ...definitions, apiChecks: [] };
const watch = await startMonitor(ingressUrl, {
  readDefinitions: async () => heartbeatsOnly,
  deadlines,
  log,
});
process.once("message", async () => {
  await watch.stop();
  await startMonitor(ingressUrl, { readDefinitions: async () => definitions, deadlines, log });
  process.send?.("started");
});
process.once("SIGTERM", () => process.exit(0));
process.send?.({ workerUrl: endpoint.url, controlUrl });
