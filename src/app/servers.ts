/** Begins the servers that the program brings along, beside each other: each runs in processes of its own. */
import { writeIdentityKey } from "#embedded/credentials.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

export type RestateUrls = { ingressUrl: string; adminUrl: string };

/** Where each can be reached, once it is ready; at once if it is one of the settings. */
export type Servers = {
  /** postgres://…, maybe with a password. */
  database: Promise<string>;
  /** Undefined: no role uses it, as the public API alone does not. */
  restate: Promise<RestateUrls> | undefined;
  /** Resolves once none needs this process for a while: each runs by itself, or has failed. */
  launched: Promise<unknown>;
};

/** A server that cannot start fails the program at once, whatever else is starting. */
export function beginServers(
  base: Base,
  { roles, stops }: { roles: readonly string[]; stops: Stops },
): Servers {
  const own = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const database = beginPostgres(base, stops, own[0].resolve);
  const usesRestate = roles.some((role) => role !== "api");
  const restate = usesRestate ? beginRestate(base, stops, own[1].resolve) : undefined;
  for (const server of [database, restate]) server?.catch(base.fail);
  const launched = Promise.allSettled([
    Promise.race([own[0].promise, database]),
    Promise.race([own[1].promise, restate]),
  ]);
  return { database, restate, launched };
}

type OnLaunch = () => void;

async function beginPostgres(base: Base, stops: Stops, onLaunch: OnLaunch): Promise<string> {
  const { config, log, dataDir, credentials } = base;
  const { url, port } = config.database;
  if (url !== "") return url;
  const password = credentials.database_password;
  const settings = { dataDir, port, password, log, signal: stops.signal, onLaunch };
  return (await stops.begin("Postgres", () => startPostgres(settings))).url;
}

async function beginRestate(base: Base, stops: Stops, onLaunch: OnLaunch): Promise<RestateUrls> {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const settings = { dataDir, identityKeyFile, log, signal: stops.signal, onLaunch };
  return stops.begin("Restate", () => startRestate(settings));
}
