/** The measured process: the worker with the monitor and the delivery, and the door for pings. */
import { randomBytes } from "node:crypto";
import { Registry } from "prom-client";
import { enqueue } from "#alerts/outbox.ts";
import { createAlertServices } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import { createControl } from "#control/control.ts";
import { createReadActor } from "#kernel/actor.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import type { Definitions } from "#monitor/contract.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createTakePing } from "#monitor/heartbeat/pings.ts";
import type { Requester } from "#monitor/kinds/request.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { saveEpisodes } from "#monitor/results/episodes.ts";
import { savePings } from "#monitor/results/record.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { startMonitor } from "#monitor/start.ts";
import { createOwner } from "#monitor/state/owner.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { definitionsOf, type NodeSettings, type Wish } from "./monitor-plan.ts";

const settings = JSON.parse(process.env["BENCH_NODE"] ?? "") as NodeSettings;
const { ingressUrl, receiverUrl } = settings;
const log = createLog({ level: process.env["BENCH_LOG"] ?? "silent", format: "json" });
const host = "127.0.0.1";
const location = "local";
const readActor = createReadActor(randomBytes(32));

const noPhases = { dns: null, connect: null, tls: null, firstByte: null, transfer: null };

/** Returns an answer without making a request. */
const sleepyProbe: Requester = async () => ({
  durationMs: 1,
  phases: noPhases,
  tlsDaysLeft: null,
  outcome: { kind: "response", status: 200, headers: {}, body: "{}" },
});

const source = {
  source_id: "01BENCH",
  source_kind: "checkly",
  token: "token",
  token_file: "",
} as const;

const all = definitionsOf(settings.plan);
let definitions: Definitions = { ...all, apiChecks: [] };
const readDefinitions = async () => definitions;
const whyOff = () => [];
const runners = createRunners(openDatabase(settings.databaseUrl, log));
const { delivery, services, sendNow } = createAlertServices({
  send: async () => ({ kind: "unconfigured" }),
  webhookUrlOf: () => "",
  channelsOf: () => [],
  readChannels: async () => [],
  sourceOf: createSourceOf(receiverUrl, { production: source, staging: source }),
  linkTo: { check: () => undefined, rollout: () => undefined },
  attemptTimeoutMs: 10_000,
  giveUpAfterMs: 86_400_000,
  keepDays: 30,
  database: openDatabase(settings.databaseUrl, log),
  recordAccepted: (transaction, events) =>
    saveEpisodes(
      transaction,
      events.map(({ event, atMs }) => ({ event, deliveredAtMs: atMs })),
    ),
  notifyDrill: async () => {},
  registry: new Registry(),
  log,
  readActor,
});
const runCheck = createRunCheck({
  probe: settings.isProbing ? createProbe() : sleepyProbe,
  target: {
    baseUrl: settings.targetUrl,
    readSecret: (name) => ({ value: "secret", bindings: [{ name, hosts: undefined }] }),
  },
  location,
  nowMs: Date.now,
});
const database = openDatabase(settings.databaseUrl, log);
const { states, outage } = createOwner({
  database,
  readDefinitions,
  whyOff,
  readRollout: async () => null,
  readBlame: async () => () => [],
  readFurther: runners.expected,
  settings: { location, failedAtPercent: 0, runsHere: true },
  runCheck,
  sendNow,
  wakeDelivery: delivery.wake,
  count: () => {},
  log,
});
const inbox = createInbox({
  database,
  recordPings: (pings) => savePings(database, pings),
  decide: states.decide,
});
const endpoint = await serveEndpoint({
  host,
  port: 0,
  identityKeys: [],
  log,
  services: [
    ...createMonitorServices({
      states,
      readDefinitions,
      readActor,
      whyOff,
      runCheck,
      inbox,
      pingUrl: null,
      pingOurs: inbox.pingOurs,
      enqueue: (orders) => enqueue(database, orders).then(delivery.wake),
      runners,
      location,
    }),
    ...services,
  ],
});
const control = createControl({
  ingressUrl,
  ingressToken: "token",
  log,
  doors: [createPingDoor(createTakePing({ inbox, log, nowMs: Date.now }))],
});
const controlUrl = await control.listen({ host, port: 0 });
delivery.start();
await startMonitor(ingressUrl, { readDefinitions, states, outage, log });
process.on("message", async (wish: Wish) => {
  if (wish === "wake") return delivery.wake();
  definitions = all;
  await states.decideAll();
  process.send?.("started");
});
process.once("SIGTERM", () => process.exit(0));
process.send?.({ workerUrl: endpoint.url, controlUrl });
