/**
 * Real servers for integration tests, each with a temporary directory and free ports. By default
 * they are the npm binaries; with TEST_ENGINE=docker they are containers.
 */
import { type PostgresSettings, startPostgres } from "#embedded/postgres.ts";
import { createLog } from "#kernel/log.ts";
import {
  makeControllable,
  serverEnvironment,
  startTestRestate as startHere,
  type TestRestate,
  type TestRestateOptions,
  type TestServer,
} from "#testing/testing.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";

const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });

export type { TestRestate, TestServer };

export type TestDatabase = TestServer & { url: string };

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

type RestateOptions = Pick<TestRestateOptions, "services" | "alwaysReplay" | "environment"> & {
  /** Restate reaches the services through it. */
  through?: { url: string; pointTo: (port: number) => void };
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
  const server = makeControllable(first, () => start(port));
  return { ...server, url: first.url, stop: () => server.stop().finally(dir.remove) };
}

/** A Restate server with these services registered, which run in the test's own process. */
export async function startTestRestate(options: RestateOptions): Promise<TestRestate> {
  if (isDocker) return startRestateContainer(options);
  const { through, ...given } = options;
  const advertise = (url: string) => {
    through?.pointTo(Number(new URL(url).port));
    return through?.url ?? url;
  };
  const ports = { ingress: await freePort(), admin: await freePort() };
  return startHere({ ...given, advertise, ports });
}

async function startRestateContainer(options: RestateOptions): Promise<TestRestate> {
  const { services } = options;
  const endpoint = await serveEndpoint({
    host: "0.0.0.0",
    port: 0,
    services,
    identityKeys: [],
    log,
  });
  const environment = serverEnvironment(options);
  const { restate, workerUrl } = await (await containers()).restateContainer(
    environment,
    endpoint.url,
  );
  const stop = () => restate.stop().finally(endpoint.stop);
  try {
    await registerWorker({ adminUrl: restate.adminUrl, workerUrl, revision: "test" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...restate, stop };
}
