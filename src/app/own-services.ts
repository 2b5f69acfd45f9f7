/** The servers of this installation, to which nothing that others name may lead: a check, a channel, a registry. */
import pg from "pg";
import type { Config } from "#config.ts";
import { findOpenServer } from "#fleet/drivers/kubernetes/access.ts";
import { httpUrl, portOf } from "#kernel/address.ts";
import { type Network, type OwnService, serviceAt } from "#kernel/reach.ts";
import { advertisedUrlOf } from "#worker/register.ts";
import { fleetsOf } from "./fleets.ts";

/** Lists the services that the settings name, in whichever process they run. One at a port of 0 is added when it listens. */
export function servicesOf(config: Config): OwnService[] {
  const { restate, database, worker, control, metrics, redis, clickhouse } = config;
  const { ingress_url, admin_url, ingress_port, admin_port } = restate;
  const front = ingress_url === "" ? "127.0.0.1" : restate.front_host;
  const fronts = front === "" ? [] : [ingress_port, admin_port];
  const ownPostgres = httpUrl({ host: "127.0.0.1", port: database.port });
  const postgres = [database.url, database.direct_url].filter((url) => url !== "");
  const urls: Record<string, string[]> = {
    Restate: [
      ...[ingress_url, admin_url].flatMap((url) => [url, nodeUrlOf(url)]),
      ...fronts.map((port) => httpUrl({ host: front, port })),
    ],
    Postgres: database.url === "" ? [ownPostgres] : postgres.map(postgresServer),
    worker: [httpUrl(worker), advertisedUrlOf(worker)],
    control: [httpUrl(control), unlessShared(control.public_url)],
    metrics: [httpUrl(metrics)],
    Redis: [redis.url],
    ClickHouse: [clickhouse.url],
    "a fleet's API": fleetsOf(config).flatMap(({ fleet }) => fleetUrls(fleet)),
  };
  return Object.entries(urls).flatMap(([name, all]) => all.flatMap((url) => serviceAt(name, url)));
}

/** The networks to which checks and channels do not connect. */
export function closedBy({ private_networks }: Config["monitor"]): Network[] {
  return private_networks ? ["metadata"] : ["metadata", "loopback", "private"];
}

/** The server of `monitor.base_url`, which is open whatever is closed: other ports of its host are not. */
export function openAt(baseUrl: string): string[] {
  const address = URL.parse(baseUrl);
  return address === null ? [] : [`${address.hostname}:${portOf(address)}`];
}

/** Empty for a public address without a port: it is often that of a proxy which serves what checks watch, too. */
export function unlessShared(url: string): string {
  return URL.parse(url)?.port ? url : "";
}

/** The server at a Postgres URL, as the driver reads that: its query may name it. */
export function postgresServer(url: string): string {
  const { host, port } = new pg.Client(url);
  // A folder has a socket.
  return host.startsWith("/") ? "" : httpUrl({ host, port });
}

/** Returns the address at which servers of Restate call each other. */
function nodeUrlOf(url: string): string {
  return url && `http://${new URL(url).hostname}:5122`;
}

/** Servers of fleets that deploy for whoever reaches them. */
function fleetUrls({ driver, http, docker, kubernetes }: Config["fleet"]): string[] {
  if (driver === "docker") return docker.hosts.map(engineUrl);
  if (driver === "kubernetes") return [findOpenServer(kubernetes.context, process.env)];
  return driver === "http" && http.token === "" ? [http.url] : [];
}

/** Returns the address as the driver reads it: without a port it is that of HTTP. */
function engineUrl({ url, ca, cert, key }: Config["fleet"]["docker"]["hosts"][number]): string {
  return url.replace(/^tcp:/i, `${ca}${cert}${key}` === "" ? "http:" : "https:");
}
