/**
 * Real servers for integration tests, each with a temporary directory and free ports. By default
 * they are the npm binaries; with TEST_ENGINE=docker they are containers.
 */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { type PostgresSettings, startPostgres } from "#embedded/postgres.ts";
import { type RestateSettings, startRestate } from "#embedded/restate.ts";
import type { SupervisedServer } from "#embedded/supervised.ts";
import { createLog } from "#kernel/log.ts";
import { identifyProcess, signalProcess } from "#kernel/process.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";

const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });

export type TestServer = {
  /** 0 in a container. */
  pid: () => number;
  /** For good: its data is removed. */
  stop: () => Promise<void>;
  /** Ends it as a power failure would. It stays down until `restart`. */
  kill9: () => Promise<void>;
  /** Starts it again on the same ports and the same data, after an orderly stop if it runs. */
  restart: () => Promise<void>;
};

export type TestDatabase = TestServer & { url: string };

export type TestRestate = TestServer & { ingressUrl: string; adminUrl: string };

/** The settings of a program that uses these servers, with free ports and one sentinel. */
export function serverSettings(
  database: Pick<TestDatabase, "url">,
  restate: Pick<TestRestate, "ingressUrl" | "adminUrl">,
): Record<string, string> {
  return {
    DATABASE_URL: database.url,
    VEDETTE_RESTATE__INGRESS_URL: restate.ingressUrl,
    VEDETTE_RESTATE__ADMIN_URL: restate.adminUrl,
    VEDETTE_API__PORT: "0",
    VEDETTE_CONTROL__PORT: "0",
    VEDETTE_WORKER__PORT: "0",
    VEDETTE_METRICS__PORT: "0",
    VEDETTE_FLEET__PROCESS__SIZE: "1",
  };
}

type RestateOptions = {
  services: EndpointOptions["services"];
  /** Every step is replayed from the journal: finds handlers that are not deterministic. */
  alwaysReplay?: boolean;
  /** Restate reaches the services through it. */
  through?: { url: string; pointTo: (port: number) => void };
  /** Further `RESTATE_…` variables. */
  environment?: Record<string, string>;
};

const isDocker = process.env["TEST_ENGINE"] === "docker";

/** Loaded only where it is asked for: it takes longer to load than a server to start. */
const containers = () => import("./containers.ts");

/** An empty Postgres. It forgets what it was just told when the machine fails, not when it is killed. */
export async function startTestDatabase({ connections = 100 } = {}): Promise<TestDatabase> {
  if (isDocker) return (await containers()).startPostgresContainer();
  const dir = makeTempDir();
  // Not synchronous_commit=off: what was committed has to survive a kill -9.
  const options = ["fsync=off", "full_page_writes=off", `max_connections=${connections}`];
  const start = (port: number) => {
    const settings = { dataDir: dir.path, port, password: "test", options, log };
    return startPostgres(settings satisfies PostgresSettings);
  };
  const port = await freePort();
  const first = await start(port);
  const server = controllable(first, () => start(port));
  return { ...server, url: first.url, stop: () => server.stop().finally(dir.remove) };
}

/** A Restate server with these services registered, which run in the test's own process. */
export async function startTestRestate(options: RestateOptions): Promise<TestRestate> {
  const host = isDocker ? "0.0.0.0" : "127.0.0.1";
  const { services } = options;
  const endpoint = await serveEndpoint({ host, port: 0, services, identityKeys: [], log });
  const environment = serverEnvironment(options);
  const { restate, workerUrl } = isDocker
    ? await (await containers()).restateContainer(environment, endpoint.url)
    : {
        restate: await startRestateProcess(environment),
        workerUrl: passThrough(endpoint.url, options),
      };
  const stop = () => restate.stop().finally(endpoint.stop);
  try {
    await registerWorker({ adminUrl: restate.adminUrl, workerUrl, revision: "test" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...restate, stop };
}

function passThrough(url: string, { through }: RestateOptions): string {
  through?.pointTo(Number(new URL(url).port));
  return through?.url ?? url;
}

async function startRestateProcess(environment: Record<string, string>): Promise<TestRestate> {
  const dir = makeTempDir();
  const start = (ingressPort: number, adminPort: number) => {
    const settings = { dataDir: dir.path, ingressPort, adminPort, environment, log };
    return startRestate(settings satisfies RestateSettings);
  };
  const [ingressPort, adminPort] = [await freePort(), await freePort()];
  const first = await start(ingressPort, adminPort);
  const { ingressUrl, adminUrl } = first;
  const server = controllable(first, () => start(ingressPort, adminPort));
  return { ...server, ingressUrl, adminUrl, stop: () => server.stop().finally(dir.remove) };
}

function serverEnvironment(options: RestateOptions): Record<string, string> {
  return {
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "64 MiB",
    RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    ...(options.alwaysReplay === true && { RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: "0s" }),
    ...options.environment,
  };
}

/** A server that a test may end and start again at will: its own watch does not interfere. */
function controllable(first: SupervisedServer, again: () => Promise<SupervisedServer>): TestServer {
  let server = first;
  let isUp = true;
  const killNow = () => {
    const identity = isUp ? identifyProcess(server.pid()) : undefined;
    if (identity !== undefined) signalProcess(identity, "SIGKILL");
  };
  // A test run that ends in the middle leaves nothing behind.
  process.once("exit", killNow);
  const stop = async () => {
    isUp = false;
    await server.stop();
  };
  return {
    pid: () => server.pid(),
    kill9: () => {
      killNow();
      // In the same moment, so that the watch takes the end for one that was asked for.
      return stop();
    },
    restart: async () => {
      await stop();
      server = await again();
      isUp = true;
    },
    stop: () => stop().finally(() => process.removeListener("exit", killNow)),
  };
}
