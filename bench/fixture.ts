/** Shared by the measurements: real servers as `npm start` runs them, and a fleet without any cost. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { createCountStore } from "#fleet/counters/store.ts";
import { createDeployer, type Deployer } from "#fleet/deploys/deployer.ts";
import { createSentinelService } from "#fleet/deploys/service.ts";
import { createStartDeploys } from "#fleet/deploys/start.ts";
import type { Driver } from "#fleet/drivers/driver.ts";
import { createFleetStore, type FleetStore } from "#fleet/store.ts";
import { type Database, migrate, openDatabase } from "#kernel/database.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { createTraceService } from "#kernel/trace-service.ts";
import { createRolloutServices } from "#rollout/services.ts";
import { type EndpointSettings, serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { createChat } from "../test/support/alerts/chat.ts";
import { deploying } from "../test/support/rollout/deploying.ts";
import { createTestListing } from "../test/support/rollout/fleet-listing.ts";
import { withStops } from "./clean-up.ts";

/** The most deploys in flight, for every engine. */
export const maxParallel = 100;

export const log = createLog({ level: "silent", format: "json" });

export type Fleet = {
  driver: Driver;
  sizeTo: (size: number) => void | Promise<void>;
  /** Sets the duration of deploys from now on. */
  takes: (ms: number) => void;
  /** An image that no rollout had before. */
  image: () => string;
};

/** Names of images, each another one. */
export function imagesOfBench(): () => string {
  let number = 0;
  return () => `registry.example.com/vedette/sentinel:b${++number}`;
}

/** Sentinels in this process: every deploy succeeds, at once until `takes` says otherwise. */
export function createFleet(): Fleet {
  let delayMs = 0;
  const running = new Map<string, string>();
  const readyAtMs = new Map<string, number>();
  const regions = ["eu-central-1", "us-east-1", "ap-southeast-1"];
  const driver: Driver = {
    list: async () =>
      [...running].map(([id, image], i) => {
        const region = regions[i % regions.length] ?? "";
        return { id, region, image, running_image: image, healthy: true };
      }),
    apply: async ({ sentinelId, image }) => {
      running.set(sentinelId, image);
      readyAtMs.set(sentinelId, Date.now() + delayMs);
      return {};
    },
    observe: async ({ sentinelId, image }) => {
      const isReady = Date.now() >= (readyAtMs.get(sentinelId) ?? 0);
      return { status: isReady ? "ready" : "progressing", running_image: image };
    },
    start: async () => {},
    stop: async () => {},
  };
  return {
    driver,
    takes(ms) {
      delayMs = ms;
    },
    sizeTo(size) {
      running.clear();
      const first = "registry.example.com/vedette/sentinel:v1";
      for (let i = 0; i < size; i++) running.set(`sentinel-${String(i).padStart(6, "0")}`, first);
    },
    image: imagesOfBench(),
  };
}

export type Servers = {
  database: Database;
  databaseUrl: string;
  ingressUrl: string;
  restatePid: () => number;
  postgresPid: () => number;
  store: FleetStore;
  deployer: Deployer;
  /** Registers something to stop before the servers, also when the measurement fails. */
  defer: (stop: () => unknown) => void;
};

/** `others`: of the measurement itself. */
type Services = { fleet: Fleet; others?: EndpointSettings["services"] };

/**
 * Runs Restate and Postgres with the durability of `npm start`, and our services on them, while `measure`
 * runs. Cleans up also when it fails or is interrupted.
 */
export function withServers(
  services: Services,
  measure: (servers: Servers) => Promise<void>,
): Promise<void> {
  return withStops((stops) => startServers(services, (stop) => stops.push(stop)).then(measure));
}

async function startServers(
  { fleet, others = [] }: Services,
  defer: Servers["defer"],
): Promise<Servers> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "vedette-bench-"));
  defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({ dataDir, port: 0, password: "bench", log });
  defer(postgres.stop);
  await migrate(postgres.url, log);
  const database = openDatabase(postgres.url, log);
  defer(() => database.end());
  const store = createFleetStore(database);
  const deployer = createDeployer(fleet.driver, store);
  const deployTimeoutMs = 60_000;
  const notices = createChat({ database, webhookUrlOf: () => "" });
  notices.delivery.start();
  defer(notices.delivery.stop);
  const fleets = deploying(deployer, deployTimeoutMs);
  const endpoint = await serveEndpoint({
    host: "127.0.0.1",
    port: 0,
    identityKeys: [],
    log,
    services: [
      ...others,
      createSentinelService({ fleets, store }),
      ...notices.services,
      createTraceService(),
      ...createRolloutServices({
        fleets: [
          {
            name: "singleton",
            listFleet: createTestListing(database, fleet.driver).list,
            readProblem: async () => null,
            resolveImage: async (image) => ({ image }),
            policy: {},
            maxParallel,
            deployTimeoutMs,
          },
        ],
        readMembers: store.members,
        orders: store,
        findOrdered: store.findOrdered,
        startDeploys: createStartDeploys(fleets),
        readGateTargets: async () => ({ known: [], whyOff: () => [], webhooks: [], rows: [] }),
        readCounts: createCountStore(database).read,
        gateTools: { readChecks: async () => [], askWebhook: async () => ({ error: "none" }) },
        readRuns: async (_, { untilMs }) => ({ runs: [], untilMs }),
        database,
        endInvocations: async () => {},
      }),
    ],
  });
  defer(endpoint.stop);
  const restate = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });
  defer(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: endpoint.url, revision: "bench" });
  return {
    database,
    databaseUrl: postgres.url,
    ingressUrl,
    restatePid: restate.pid,
    postgresPid: postgres.pid,
    store,
    deployer,
    defer,
  };
}

export type Answer = Record<string, unknown>;

type Call = { url: string; handler: string; body?: unknown; token?: string };

/** Calls a handler of the rollout. Throws when the answer is not a success. */
export async function callRollout({ url, handler, body = {}, token }: Call): Promise<Answer> {
  const path = `/vedette.v1.SentinelRolloutService/singleton/${handler}`;
  // Restate itself asks for no token.
  const answer = await fetch(`${url}${token === undefined ? ingressPath(path) : path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(600_000),
  });
  if (!answer.ok) throw new Error(`${handler}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

/** Throws unless the table says that every sentinel of the fleet runs the image. */
export async function checkFleet(database: Database, image: string, size: number): Promise<void> {
  const { rows } = await database.query(
    `SELECT count(*)::int AS total, count(*) FILTER (
       WHERE running_image = $1 AND deploy_status = 'ready')::int AS ready FROM sentinels`,
    [image],
  );
  const { total, ready } = rows[0];
  if (total !== size || ready !== size) {
    throw new Error(`${ready} of ${total} sentinels run ${image}; there should be ${size}`);
  }
}
