/**
 * From a failing response of the API to the event that the incident service has accepted: real checks
 * on their grid, each of which fails and recovers in turn, on Restate and Postgres as `npm start` has
 * them; worker, API and receiver share this process. Every run is an event, which is more than the
 * checks of any API are likely to have. BENCH_CHECKS, BENCH_SECONDS.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Registry } from "prom-client";
import { createAlertDelivery } from "#alerting/events/services.ts";
import { createSourceOf } from "#alerting/events/source.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { createInbox } from "#monitor/inbox.ts";
import { createProbe } from "#monitor/probe.ts";
import { createRunCheck } from "#monitor/run-check.ts";
import { createRunners } from "#monitor/runners.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { startMonitor } from "#monitor/start.ts";
import { createRecorder } from "#results/record.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { type AlertReceiver, startAlertReceiver } from "../test/support/alert-receiver.ts";
import { anApiCheck } from "../test/support/check-builders.ts";
import { log } from "./fixture.ts";
import { countFrom, percentile } from "./measure.ts";

const seconds = countFrom("BENCH_SECONDS", 120);
const checkCount = countFrom("BENCH_CHECKS", 42);
/** The hosted monitor's are longer; 42 checks every five seconds are 504 runs a minute. */
const frequencySeconds = 5;

/** Code that runs for the first time is slow: what fails before is not counted. */
const warmUpMs = 15_000;

const apiChecks = Array.from({ length: checkCount }, (_, i) =>
  anApiCheck({ id: `check-${i}`, path: `/check-${i}`, frequencySeconds, failedAboveMs: 2_000 }),
);

const stops: (() => unknown)[] = [];
try {
  await measure();
} finally {
  for (const stop of stops.reverse()) {
    await Promise.try(stop).catch((error) => console.error("a part was not stopped:", error));
  }
}

/** When each check's answers failed, in turn; every second answer does. */
type Failures = Map<string, number[]>;

async function startApi(): Promise<{ url: string; failures: Failures }> {
  const failures: Failures = new Map(apiChecks.map(({ id }) => [id, []]));
  const runs = new Map<string, number>();
  const server = createServer((incoming, outgoing) => {
    const check = incoming.url?.slice(1) ?? "";
    const run = (runs.get(check) ?? 0) + 1;
    runs.set(check, run);
    const isFailing = run % 2 === 1;
    outgoing.writeHead(isFailing ? 500 : 200).end("{}", () => {
      if (isFailing) failures.get(check)?.push(Date.now());
    });
    incoming.resume();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stops.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, failures };
}

function servicesOn(database: Database, baseUrl: string, receiver: AlertReceiver) {
  const recorder = createRecorder(database);
  const inbox = createInbox({ database, heartbeats: [], recordPings: recorder.pings });
  const definitions = { apiChecks, heartbeats: [] };
  const target = { baseUrl, secrets: { KEY: "", ROOT_KEY: "" } };
  const source = {
    source_id: receiver.sourceId,
    source_kind: "checkly",
    token: receiver.token,
    token_file: "",
  } as const;
  const monitor = createMonitorServices({
    definitions,
    recorder,
    readRollout: async () => null,
    failedAtPercent: 0,
    location: "local",
    runCheck: createRunCheck({ probe: createProbe(), target, location: "local", nowMs: Date.now }),
    activeChecks: new Set(apiChecks.map(({ id }) => id)),
    runners: createRunners(database),
    inbox,
    pingUrl: null,
  });
  const delivery = createAlertDelivery({
    sourceOf: createSourceOf(receiver.url, { production: source, staging: source }),
    consoleUrl: "",
    attemptTimeoutMs: 10_000,
    giveUpAfterMs: 3_600_000,
    keepDays: 30,
    database,
    noteAccepted: recorder.delivered,
    registry: new Registry(),
  });
  return { services: [...monitor, ...delivery], definitions, inbox };
}

async function measure(): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-bench-"));
  stops.push(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, port: 0, password: "bench", log });
  stops.push(postgres.stop);
  await migrate(postgres.url, log);
  const database = openDatabase(postgres.url, log);
  stops.push(() => database.end());
  const receiver = await startAlertReceiver();
  stops.push(receiver.stop);
  const { url, failures } = await startApi();
  const { services, definitions, inbox } = servicesOn(database, url, receiver);
  const settings = { host: "127.0.0.1", port: 0, identityKeys: [], log, services };
  const endpoint = await serveEndpoint(settings);
  stops.push(endpoint.stop);
  const restate = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });
  stops.push(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "bench" });
  await startMonitor(ingressUrl, { definitions, inbox });
  const fromMs = Date.now() + warmUpMs;
  await delay(warmUpMs + seconds * 1_000);
  report(delaysOf(failures, receiver, fromMs));
}

/** Events of a check arrive in order: the nth failure is that of its nth failing answer. */
function delaysOf(failures: Failures, receiver: AlertReceiver, fromMs: number): number[] {
  return apiChecks.flatMap(({ id }) => {
    const arrived = receiver.events.filter(
      ({ deduplicationKey, status }) => deduplicationKey === id && status === "firing",
    );
    return arrived.flatMap(({ atMs }, i) => {
      const failedMs = failures.get(id)?.[i] ?? Number.NaN;
      return failedMs < fromMs ? [] : [atMs - failedMs];
    });
  });
}

function report(delaysMs: readonly number[]): void {
  console.table([
    {
      "failures told": delaysMs.length,
      "a minute": Math.round((delaysMs.length / seconds) * 60),
      "p50 ms": percentile(delaysMs, 50),
      "p95 ms": percentile(delaysMs, 95),
      "p99 ms": percentile(delaysMs, 99),
      "max ms": Math.max(...delaysMs),
    },
  ]);
}
