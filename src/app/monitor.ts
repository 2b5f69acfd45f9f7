/** Wires the monitor: the objects that the worker serves, and its doors at control. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Door } from "#control/short-answers.ts";
import type { ReadActor } from "#kernel/actor.ts";
import { httpUrl } from "#kernel/address.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { createReach } from "#kernel/reach.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createSendPing, createTakePing } from "#monitor/heartbeat/pings.ts";
import { startPresence } from "#monitor/heartbeat/presence.ts";
import { createRunnerDoor, createSendReport } from "#monitor/locations/gateway.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck, type Target } from "#monitor/probe/run-check.ts";
import { requireMeantSecrets } from "#monitor/probe/secrets.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { retireRemoved, startMonitor } from "#monitor/start.ts";
import { readRecentRollout } from "#rollout/history/reader.ts";
import type { Base } from "./base.ts";
import { monitorSecrets } from "./monitor-secrets.ts";
import { closedBy, openAt } from "./own-services.ts";
import type { Results } from "./results.ts";
import { createLocationWitness } from "./runner.ts";
import type { Stops } from "./stops.ts";

type MonitorParts = {
  database: Database;
  databaseUrl: string;
  results: Results;
  /** Address of this process's API; undefined: another process serves it, at the address of the settings. */
  apiUrl: string | undefined;
  stops: Stops;
};

export type Monitor = {
  /** Throws a `MisdirectedSecret` if one may not go to where the check would send it. */
  requireMeantSecrets: (check: RunnableCheck) => void;
  createServices: (readActor: ReadActor) => EndpointOptions["services"];
  /** Starts the checks; must be called after the services are registered at Restate. */
  start: (ingressUrl: string) => Promise<void>;
  openDoors: (ingressUrl: string, stops: Stops) => Promise<Door[]>;
};

export function createMonitor(base: Base, parts: MonitorParts): Monitor {
  const { config, log } = base;
  const { database, results } = parts;
  const { readDefinitions, recorder } = results;
  const { location, failed_at_percent, ping_url } = config.monitor;
  const target = targetOf(base, parts.apiUrl);
  // A connection pool of its own, so that pings and deadlines don't wait behind records.
  const inboxDatabase = openDatabase(parts.databaseUrl, log);
  parts.stops.add("inbox database", () => inboxDatabase.end());
  const inbox = createInbox({
    database: inboxDatabase,
    readDefinitions,
    recordPings: recorder.pings,
  });
  const deadlines = createDeadlines(inboxDatabase);
  const runners = createRunners(database);
  const witness = createLocationWitness(config.monitor, log, base.registry);
  const reach = createReach({
    services: base.services,
    closed: closedBy(config.monitor),
    named: () => openAt(target.baseUrl),
  });
  const probe = createProbe();
  const runCheck = createRunCheck({ probe, reach, target, location, nowMs: Date.now });
  const { whyOff } = results;
  return {
    requireMeantSecrets: (check) => requireMeantSecrets(check, target),
    createServices: (readActor) =>
      createMonitorServices({
        readDefinitions,
        recorder,
        readActor,
        readRollout: () => readRecentRollout(database),
        failedAtPercent: failed_at_percent,
        location,
        runCheck,
        witness,
        baseUrl: target.baseUrl,
        whyOff,
        runners,
        inbox,
        adopt: deadlines.adopt,
        pingUrl: ping_url || null,
      }),
    async start(ingressUrl) {
      const watch = await startMonitor(ingressUrl, { readDefinitions, deadlines, log });
      parts.stops.add("monitor", watch.stop);
      await retireRemoved(ingressUrl, { readDefinitions, known: await results.readWatched() });
    },
    async openDoors(ingressUrl, stops) {
      const presence = await startPresence(inboxDatabase, log);
      stops.add("presence", presence.stop);
      const send = createSendPing(ingressUrl);
      const { baseUrl } = target;
      return [
        createPingDoor(createTakePing({ inbox, send, log, nowMs: Date.now })),
        createRunnerDoor({
          runners,
          readChecks: async () => (await readDefinitions()).apiChecks,
          whyOff,
          baseUrl,
          services: base.services,
          sendReport: createSendReport(ingressUrl),
          nowMs: Date.now,
        }),
      ];
    },
  };
}

function targetOf(base: Base, ownApiUrl: string | undefined): Target {
  const { api, monitor } = base.config;
  const baseUrl = monitor.base_url || (ownApiUrl ?? httpUrl(api));
  return { baseUrl, readSecret: monitorSecrets(base) };
}
