/** Wires the monitor: the objects that the worker serves, and its doors at control. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { enqueue } from "#alerts/outbox.ts";
import type { Door } from "#control/short-answers.ts";
import type { ReadActor } from "#kernel/actor.ts";
import { httpUrl } from "#kernel/address.ts";
import type { Database } from "#kernel/database.ts";
import { createReach } from "#kernel/reach.ts";
import type { ReadDefinitions, RunnableCheck } from "#monitor/contract.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createPingDoor, createTakePing } from "#monitor/heartbeat/pings.ts";
import { startPresence } from "#monitor/heartbeat/presence.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { createRunners, type Runners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck, type Target } from "#monitor/probe/run-check.ts";
import { requireMeantSecrets } from "#monitor/probe/secrets.ts";
import { type PlainPing, savePings } from "#monitor/results/record.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { startMonitor } from "#monitor/start.ts";
import type { SendNow } from "#monitor/state/outage.ts";
import { createOwner } from "#monitor/state/owner.ts";
import { readRecentRollout } from "#rollout/history/reader.ts";
import type { Base } from "./base.ts";
import type { OwnBlame } from "./blame.ts";
import { monitorSecrets } from "./monitor-secrets.ts";
import { closedBy, openAt } from "./own-services.ts";
import type { Results } from "./results.ts";
import { createLocationWitness } from "./runner.ts";
import type { Stops } from "./stops.ts";

type MonitorParts = {
  /** Of what must not wait behind reads. */
  ownDatabase: Database;
  blame: Pick<OwnBlame, "readBlame">;
  results: Results;
  /** By that pool. */
  readDefinitions: ReadDefinitions;
  /** Address of this process's API; undefined: another process serves it, at the address of the settings. */
  apiUrl: string | undefined;
  /** True in a process that makes runs. */
  runsHere: boolean;
  stops: Stops;
};

/** Sends to channels at once. */
type Channels = { wake: () => void; sendNow: SendNow };

export type Monitor = {
  /** Throws a `MisdirectedSecret` if one may not go to where the check would send it. */
  requireMeantSecrets: (check: RunnableCheck) => void;
  createServices: (readActor: ReadActor) => EndpointOptions["services"];
  /** Has the checks follow the definitions that were applied. */
  follow: () => Promise<void>;
  /** Starts the checks; must be called after the services are registered at Restate. */
  start: (ingressUrl: string, channels: Channels) => Promise<void>;
  openDoors: (stops: Stops) => Promise<Door[]>;
};

export function createMonitor(base: Base, parts: MonitorParts): Monitor {
  const { config, log } = base;
  const { results, stops, readDefinitions, ownDatabase: database } = parts;
  const { whyOff } = results;
  const target = targetOf(base, parts.apiUrl);
  const runners = createRunners(database);
  let channels: Channels | undefined;
  const wakeDelivery = () => channels?.wake();
  const sendNow: SendNow = async (order) =>
    channels?.sendNow(order) ?? { kind: "retry", cause: "nothing is sent yet" };
  const owned = { ...parts, database, target, runners, wakeDelivery, sendNow };
  const { states, outage, runCheck } = ownStates(base, owned);
  const recordPings = async (pings: readonly PlainPing[]) => {
    await savePings(database, pings);
    results.counters.pings(pings);
  };
  const inbox = createInbox({ database, recordPings, decide: states.decide });
  const common = { readDefinitions, whyOff, inbox, runners };
  return {
    requireMeantSecrets: (check) => requireMeantSecrets(check, target),
    createServices: (readActor) =>
      createMonitorServices({
        ...common,
        states,
        readActor,
        runCheck,
        pingUrl: config.monitor.ping_url || null,
        location: config.monitor.location,
        pingOurs: inbox.pingOurs,
        enqueue: (orders) => enqueue(database, orders).then(wakeDelivery),
      }),
    follow: states.decideAll,
    async start(ingressUrl, given) {
      channels = given;
      const watch = await startMonitor(ingressUrl, { readDefinitions, states, outage, log });
      stops.add("monitor", watch.stop);
    },
    async openDoors(doorStops) {
      const presence = await startPresence(database, log);
      doorStops.add("presence", presence.stop);
      return [
        createPingDoor(createTakePing({ inbox, log, nowMs: Date.now })),
        createRunnerDoor({
          ...common,
          readChecks: async () => (await readDefinitions()).apiChecks,
          baseUrl: target.baseUrl,
          services: base.services,
          report: states.report,
          nowMs: Date.now,
        }),
      ];
    },
  };
}

type OwnerParts = MonitorParts & {
  database: Database;
  target: Target;
  runners: Runners;
  wakeDelivery: () => void;
  sendNow: SendNow;
};

function ownStates(base: Base, parts: OwnerParts) {
  const { config, log, registry } = base;
  const { results, runsHere, target } = parts;
  const { location, failed_at_percent: failedAtPercent } = config.monitor;
  const reach = createReach({
    services: base.services,
    closed: closedBy(config.monitor),
    named: () => openAt(target.baseUrl),
  });
  const runCheck = createRunCheck({
    probe: createProbe(),
    reach,
    target,
    location,
    nowMs: Date.now,
  });
  const owner = createOwner({
    ...parts,
    whyOff: results.whyOff,
    settings: { location, failedAtPercent, runsHere },
    runCheck,
    witness: createLocationWitness(config.monitor, log, registry),
    baseUrl: target.baseUrl,
    readRollout: () => readRecentRollout(parts.ownDatabase),
    readBlame: parts.blame.readBlame,
    readFurther: parts.runners.expected,
    count: results.counters.written,
    log,
  });
  return { ...owner, runCheck };
}

function targetOf(base: Base, ownApiUrl: string | undefined): Target {
  const { api, monitor } = base.config;
  const baseUrl = monitor.base_url || (ownApiUrl ?? httpUrl(api));
  return { baseUrl, readSecret: monitorSecrets(base) };
}
