/**
 * `vedette/testing`: Restate for tests of services of your own, as a process from npm with a directory of its own that is
 * removed at the end. Ready in about a second, without Docker.
 */
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { EndpointOptions } from "@restatedev/restate-sdk";
import { startRestate } from "#embedded/restate.ts";
import type { SupervisedServer } from "#embedded/supervised.ts";
import { createLog } from "#kernel/log.ts";
import { identifyProcess, signalProcess } from "#kernel/process.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";

export type TestRestateOptions = {
  /** They run in the process of the test. */
  services: EndpointOptions["services"];
  /** Replays the journal after each step: finds handlers that are not deterministic. */
  alwaysReplay?: boolean;
  /** Further settings of the server, as `RESTATE_…` variables. */
  environment?: Record<string, string>;
  /** Where the ingress and the admin API listen on 127.0.0.1. Absent: free ports. */
  ports?: { ingress: number; admin: number };
  /** Returns the address at which Restate reaches the services, such as that of a proxy or recorder, from their own. */
  advertise?: (url: string) => string | Promise<string>;
  /** The least level of what the services log, as JSON lines on stdout. Absent: nothing is logged. */
  logLevel?: "debug" | "info" | "warn" | "error";
};

/** A server that a test may end and start again. */
export type TestServer = {
  pid: () => number;
  /** For good: its data is removed. */
  stop: () => Promise<void>;
  /** Ends it as a power failure would. It stays down until `restart`. */
  kill9: () => Promise<void>;
  /** Starts it again on the same ports and the same data, after an orderly stop if it runs. */
  restart: () => Promise<void>;
};

export type TestRestate = TestServer & {
  /** Handlers are called at `<ingressUrl>/restate/call/<service>/<handler>`, objects with `/<key>` before the handler. */
  ingressUrl: string;
  adminUrl: string;
};

/** Starts a server with these services. Throws its last words if it does not start. */
export async function startTestRestate(options: TestRestateOptions): Promise<TestRestate> {
  const { services, advertise = (url) => url } = options;
  const log = createLog({ level: options.logLevel ?? "silent", format: "json" });
  const listen = { host: "127.0.0.1", port: 0, identityKeys: [] };
  const endpoint = await serveEndpoint({ ...listen, services, log });
  const restate = await startServer(options, log).catch(async (error: Error) => {
    await endpoint.stop();
    throw error;
  });
  const stop = () => restate.stop().finally(endpoint.stop);
  try {
    const workerUrl = await advertise(endpoint.url);
    await registerWorker({ adminUrl: restate.adminUrl, workerUrl, revision: "test" });
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...restate, stop };
}

async function startServer(
  options: TestRestateOptions,
  log: Parameters<typeof startRestate>[0]["log"],
): Promise<TestRestate> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), "restate-test-"));
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  const environment = serverEnvironment(options);
  const start = ({ ingress, admin }: { ingress: number; admin: number }) =>
    startRestate({ dataDir, ingressPort: ingress, adminPort: admin, environment, log });
  try {
    const first = await start(options.ports ?? { ingress: 0, admin: 0 });
    const { ingressUrl, adminUrl } = first;
    const ports = { ingress: portOf(ingressUrl), admin: portOf(adminUrl) };
    const server = makeControllable(first, () => start(ports));
    return { ...server, ingressUrl, adminUrl, stop: () => server.stop().finally(remove) };
  } catch (error) {
    remove();
    throw error;
  }
}

const portOf = (url: string) => Number(new URL(url).port);

/** It forgets what it was just told when the machine fails, not when it is killed. */
export function serverEnvironment({
  alwaysReplay = false,
  environment,
}: Pick<TestRestateOptions, "alwaysReplay" | "environment">): Record<string, string> {
  return {
    RESTATE_DEFAULT_NUM_PARTITIONS: "1",
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "64 MiB",
    RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "true",
    ...(alwaysReplay && { RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: "0s" }),
    ...environment,
  };
}

/** A server that a test may end and start again at will: its own watch does not interfere. */
export function makeControllable(
  first: SupervisedServer,
  again: () => Promise<SupervisedServer>,
): TestServer {
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
