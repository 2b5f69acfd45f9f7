/** A fleet of containers on Docker hosts (docs/fleets.md, "Docker"). */
import {
  type DeployOrder,
  type Driver,
  type ListedSentinel,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import type { Log } from "#kernel/log.ts";
import { createConnect, type HostAddress } from "./connection.ts";
import { createEngine, RefusedError } from "./engine.ts";
import { DockerHost } from "./host.ts";
import type { FindCredential } from "./pull.ts";

export type DockerHostSettings = HostAddress & {
  name: string;
  region: string;
  /** While it is away the others are listed without it. */
  optional: boolean;
};

export type DockerDriverSettings = {
  hosts: readonly DockerHostSettings[];
  label: string;
  stableMs: number;
  readyTimeoutMs: number;
  /** How long an image with a digest may be missing at its registry. */
  imageWaitMs: number;
  findCredential: FindCredential;
  log: Log;
};

export function createDockerDriver(settings: DockerDriverSettings): Driver {
  const { log, stableMs, readyTimeoutMs } = settings;
  const hosts = new Map(
    settings.hosts.map((one) => {
      const engine = createEngine(one.name, createConnect(one), one.url);
      const limits = { stableMs, readyTimeoutMs };
      const host = new DockerHost({ ...settings, ...one, engine, limits });
      return [one.name, { ...one, host }];
    }),
  );

  const find = ({ sentinelId, ...order }: DeployOrder) => {
    const slash = sentinelId.indexOf("/");
    const entry = hosts.get(sentinelId.slice(0, slash));
    return entry && { host: entry.host, order: { ...order, name: sentinelId.slice(slash + 1) } };
  };

  return {
    list: async (signal) => {
      const lists = await Promise.all([...hosts.values()].map((one) => listHost(one, log, signal)));
      return lists.flat();
    },
    apply: async (order, call = {}) => {
      const found = find(order);
      if (found === undefined) return { failure: unknownHost };
      try {
        return await found.host.apply(found.order, call);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        return { failure: error.message, isOfApi: true };
      }
    },
    observe: async (order, call = {}) => {
      const found = find(order);
      if (found === undefined) return { status: "failed", reason: unknownHost };
      try {
        return await found.host.observe(found.order, call);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        return { status: "failed", reason: error.message, isOfApi: true };
      }
    },
    readLog: async ({ sentinelId, deployId }, call) => {
      const found = find({ sentinelId, image: "", deployId: deployId ?? "" });
      if (found === undefined) return { absent: unknownHost };
      try {
        return await found.host.readLog(found.order.name, deployId, call);
      } catch (error) {
        if (!(error instanceof RefusedError)) throw error;
        return { absent: error.message };
      }
    },
    // The first list goes on with what was under way.
    start: async () => {},
    stop: async () => {
      await Promise.all([...hosts.values()].map(({ host }) => host.stop()));
    },
  };
}

const unknownHost = "target_gone: its host is not in fleet.docker.hosts";

async function listHost(
  { name, optional, host }: { name: string; optional: boolean; host: DockerHost },
  log: Log,
  signal: AbortSignal | undefined,
): Promise<ListedSentinel[]> {
  try {
    return await host.list(signal);
  } catch (error) {
    const words = (error as Error).message;
    if (!optional) throw error instanceof RefusedError ? new UnreachableError(words) : error;
    log.warn({ host: name, reason: words }, "docker host left out of the list");
    return [];
  }
}
