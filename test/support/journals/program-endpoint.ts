/** The handlers of this program as Restate calls them, with parts that refuse whatever a step asks of them. */
import { createEndpointHandler } from "@restatedev/restate-sdk/fetch";
import { Registry } from "prom-client";
import { createAlerts } from "#app/alerts.ts";
import type { Base } from "#app/base.ts";
import { createBlame } from "#app/blame.ts";
import { createConsoleLinks } from "#app/console-links.ts";
import { createDefinitions } from "#app/definitions.ts";
import type { RunningFleet } from "#app/fleet.ts";
import { fleetsOf } from "#app/fleets.ts";
import { createMonitor } from "#app/monitor.ts";
import { createResults } from "#app/results.ts";
import { createServices } from "#app/worker.ts";
import { readConfig } from "#config.ts";
import type { Endpoint } from "#journals/journals.ts";
import { createReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";

/** The settings under which journals are recorded and replayed: some are in what the handlers send. */
export const recordedSettings = {
  VEDETTE_ANALYTICS__ENABLED: "false",
  VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  VEDETTE_ROLLOUT__MAX_PARALLEL: "2",
};

function refuse(): never {
  throw new Error("this step is not in the journal");
}

const refusing = new Proxy({}, { get: () => refuse });

/** `services`: their names. */
export function createProgramEndpoint(): { endpoint: Endpoint; services: string[] } {
  const config = readConfig({
    environment: {
      ...recordedSettings,
      VEDETTE_FLEET__DRIVER: "http",
      VEDETTE_FLEET__HTTP__URL: "http://127.0.0.1:1",
    },
  });
  const database = { query: refuse, connect: refuse } as unknown as Database;
  const base: Base = {
    config,
    log: createLog({ level: "silent", format: "json" }),
    dataDir: "",
    credentials: {} as Base["credentials"],
    services: [],
    own: () => {},
    registry: new Registry(),
    departure: { isAnnounced: () => false, announced: new Promise(() => {}) },
    fail: () => {},
  };
  const missingOfJob = () => [];
  const definitions = createDefinitions(base, { database, given: undefined, missingOfJob });
  const { readDefinitions } = definitions;
  const results = createResults({ ...base, database, readDefinitions });
  const blame = createBlame(base, database);
  const links = createConsoleLinks(config);
  const stops = { add: () => {} } as never;
  const monitor = createMonitor(base, {
    ownDatabase: database,
    blame,
    results,
    readDefinitions,
    apiUrl: undefined,
    runsHere: true,
    stops,
  });
  const parts = {
    database,
    ownDatabase: database,
    ingressUrl: "",
    adminUrl: "",
    results,
    links,
    definitions,
    blame,
    monitor,
    missingOfJob,
  };
  const actorKey = Buffer.alloc(32, 7);
  const alerts = createAlerts(base, { ...parts, readActor: createReadActor(actorKey) });
  const fleets = fleetsOf(config).map(
    (one) =>
      ({
        ...one,
        findCredential: async () => undefined,
        hasCounters: false,
        listing: refusing,
        deployer: refusing,
        deployTimeoutMs: one.fleet.deploy_timeout_seconds * 1_000,
        logs: refusing,
      }) as unknown as RunningFleet,
  );
  const services = createServices(base, {
    ...parts,
    alerts,
    actorKey,
    analytics: {} as never,
    fleets,
    store: refusing as never,
    readCounts: refuse,
  });
  return {
    endpoint: createEndpointHandler({ services, logger: () => {} }),
    services: services.map(({ name }) => name),
  };
}
