import path from "node:path";
import type { FleetConfig } from "#fleet/config.ts";
import { defaultFleet, fleetOfSentinel, qualifiedId } from "#fleet/contract.ts";
import { createDockerDriver } from "#fleet/drivers/docker/driver.ts";
import type { FindCredential } from "#fleet/drivers/docker/pull.ts";
import { createKubernetesDriver } from "#fleet/drivers/kubernetes/driver.ts";
import type { Log } from "#kernel/log.ts";
import { boundDriver } from "./bounded.ts";
import { type DeployOrder, type Driver, UnreachableError } from "./driver.ts";
import { createHttpDriver } from "./http.ts";
import { createProcessDriver } from "./process.ts";

type DriverParts = {
  fleet: FleetConfig;
  dataDir: string;
  /** The public API and a root key that may verify keys, for the gateways of the `process` driver. */
  apiUrl: string;
  rootKey: string;
  /** Finds credentials of the registries from which the `docker` driver's hosts pull. */
  findCredential: FindCredential;
  log: Log;
};

type CreateDriver = (parts: DriverParts) => Driver;

const created: Record<FleetConfig["driver"], CreateDriver> = {
  process: ({ fleet, dataDir, apiUrl, rootKey, log }) =>
    createProcessDriver({
      directory: path.join(dataDir, "sentinels"),
      size: fleet.process.size,
      basePort: fleet.process.base_port,
      trustedProxies: fleet.process.trusted_proxies,
      upstreamUrl: fleet.process.upstream_url || apiUrl,
      readyTimeoutMs: fleet.deploy_timeout_seconds * 1_000,
      apiUrl,
      rootKey,
      log,
    }),
  http: ({ fleet }) => createHttpDriver(fleet.http),
  docker: ({ fleet, findCredential, log }) =>
    createDockerDriver({
      hosts: fleet.docker.hosts,
      label: fleet.docker.label,
      stableMs: fleet.docker.stable_seconds * 1_000,
      imageWaitMs: fleet.image_wait_seconds * 1_000,
      readyTimeoutMs: fleet.deploy_timeout_seconds * 1_000,
      findCredential,
      log,
    }),
  kubernetes: ({ fleet, log }) =>
    createKubernetesDriver({
      context: fleet.kubernetes.context,
      namespaces: fleet.kubernetes.namespaces,
      kinds: fleet.kubernetes.kinds,
      selector: fleet.kubernetes.selector,
      container: fleet.kubernetes.container,
      fieldManager: fleet.kubernetes.field_manager,
      isForced: fleet.kubernetes.force,
      stableMs: fleet.kubernetes.stable_seconds * 1_000,
      imageWaitMs: fleet.image_wait_seconds * 1_000,
      readyTimeoutMs: fleet.deploy_timeout_seconds * 1_000,
      environment: process.env,
      log,
    }),
};

const bounded =
  (create: CreateDriver): CreateDriver =>
  (parts) =>
    boundDriver(create(parts), parts.log);

/** Every driver is bounded, so that none passes on unchecked data of its fleet. */
export const drivers = Object.fromEntries(
  Object.entries(created).map(([name, create]) => [name, bounded(create)]),
) as Record<FleetConfig["driver"], CreateDriver>;

/** `fleets`: the names of all fleets. */
type FleetNames = { fleet: string; fleets: readonly string[] };

/** The driver knows its own ids; everybody else those with the fleet's name before them. */
export function driverOfFleet(driver: Driver, { fleet, fleets }: FleetNames): Driver {
  const prefix = qualifiedId(fleet, "");
  const own = <Order extends Pick<DeployOrder, "sentinelId">>(order: Order): Order => ({
    ...order,
    sentinelId: order.sentinelId.slice(prefix.length),
  });
  const { readLog, readCounters } = driver;
  return {
    ...driver,
    ...(readLog && { readLog: (source, call) => readLog(own(source), call) }),
    ...(readCounters && {
      readCounters: async (signal) => {
        const counters = await readCounters(signal);
        return new Map([...counters].map(([id, one]) => [`${prefix}${id}`, one]));
      },
    }),
    list: async (signal) => {
      const listed = await driver.list(signal);
      if (fleet === defaultFleet) refuseTaken(listed, fleets);
      return listed.map((sentinel) => ({ ...sentinel, id: `${prefix}${sentinel.id}` }));
    },
    apply: (order, call) => driver.apply(own(order), call),
    observe: (order, call) => driver.observe(own(order), call),
  };
}

/** Only the default fleet's ids have no name before them. */
function refuseTaken(listed: readonly { id: string }[], fleets: readonly string[]): void {
  const taken = listed.find(({ id }) => fleetOfSentinel(id, fleets) !== defaultFleet);
  if (taken === undefined) return;
  throw new UnreachableError(
    `config_invalid: the default fleet lists ${taken.id}, which is the id of a sentinel of another fleet: give one of the two another name`,
  );
}
