/**
 * Real servers for integration tests, each with a temporary directory and free ports. By default
 * they are the npm binaries; with TEST_ENGINE=docker they are containers.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { createLog } from "#kernel/log.ts";
import { type Endpoint, serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { startPostgresContainer, startRestateContainer } from "./containers.ts";

const log = createLog({ level: process.env["TEST_LOG"] ?? "silent", format: "json" });

export type TestDatabase = { url: string; pid: () => number; stop: () => Promise<void> };

export type TestRestate = {
  ingressUrl: string;
  adminUrl: string;
  /** 0 in a container. */
  pid: () => number;
  stop: () => Promise<void>;
};

type RestateOptions = {
  services: EndpointOptions["services"];
  /** Every step is replayed from the journal: finds handlers that are not deterministic. */
  alwaysReplay?: boolean;
};

const isDocker = process.env["TEST_ENGINE"] === "docker";

export function makeTempDir(): { path: string; remove: () => void } {
  const directory = mkdtempSync(path.join(tmpdir(), "vedette-test-"));
  return { path: directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** An empty Postgres. `options` are further `name=value` settings of the server. */
export async function startTestDatabase(): Promise<TestDatabase> {
  if (isDocker) return startPostgresContainer();
  const dir = makeTempDir();
  const options = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];
  const server = await startPostgres({
    dataDir: dir.path,
    port: 0,
    password: "test",
    options,
    log,
  });
  const stop = async () => {
    await server.stop();
    dir.remove();
  };
  return { ...server, stop };
}

/** A Restate server with these services registered, which run in the test's own process. */
export async function startTestRestate(options: RestateOptions): Promise<TestRestate> {
  const host = isDocker ? "0.0.0.0" : "127.0.0.1";
  const { services } = options;
  const endpoint = await serveEndpoint({ host, port: 0, services, identityKeys: [], log });
  const environment = serverEnvironment(options);
  if (isDocker) return startRestateContainer(endpoint, environment);
  const dir = makeTempDir();
  const server = await startRestate({
    dataDir: dir.path,
    ingressPort: 0,
    adminPort: 0,
    environment,
    log,
  });
  await registerWorker({
    adminUrl: server.adminUrl,
    workerUrl: endpoint.url,
    revision: "test",
  });
  return { ...server, stop: () => stopAll(endpoint, server, dir) };
}

function serverEnvironment({ alwaysReplay }: RestateOptions): Record<string, string> {
  return {
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "64 MiB",
    RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    ...(alwaysReplay === true && { RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: "0s" }),
  };
}

async function stopAll(
  endpoint: Endpoint,
  server: { stop: () => Promise<void> },
  dir: { remove: () => void },
): Promise<void> {
  await server.stop();
  await endpoint.stop();
  dir.remove();
}
