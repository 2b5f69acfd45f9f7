/** A fleet of containers on Docker hosts (docs/fleets.md, "Docker"). */
import { type Driver, type ListedSentinel, UnreachableError } from "#fleet/drivers/driver.ts";
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
  /** The time for which an image with a digest may be missing at its registry. */
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

  /** `refuse` answers for a host that is not there, and with `isOfApi` for one that lets us do nothing. */
  const onHost = async <Answer>(
    sentinelId: string,
    act: (host: DockerHost, name: string) => Promise<Answer>,
    refuse: (reason: string, of?: { isOfApi: true }) => Answer,
  ): Promise<Answer> => {
    const slash = sentinelId.indexOf("/");
    const host = hosts.get(sentinelId.slice(0, slash))?.host;
    if (host === undefined) return refuse(unknownHost);
    try {
      return await act(host, sentinelId.slice(slash + 1));
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      return refuse(error.message, { isOfApi: true });
    }
  };

  return {
    list: async (signal) => {
      const lists = await Promise.all([...hosts.values()].map((one) => listHost(one, log, signal)));
      return lists.flat();
    },
    apply: ({ sentinelId, ...order }, call = {}) =>
      onHost(
        sentinelId,
        (host, name) => host.apply({ ...order, name }, call),
        (failure, of) => ({ failure, ...of }),
      ),
    observe: ({ sentinelId, ...order }, call = {}) =>
      onHost(
        sentinelId,
        (host, name) => host.observe({ ...order, name }, call),
        (reason, of) => ({ status: "failed", reason, ...of }),
      ),
    readLog: ({ sentinelId, deployId }, call) =>
      onHost(
        sentinelId,
        (host, name) => host.readLog(name, deployId, call),
        (absent) => ({ absent }),
      ),
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
