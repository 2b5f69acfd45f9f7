/** The servers that the program brings along, unless the settings name others: each runs in processes of its own. */
import { writeIdentityKey } from "#embedded/credentials.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

/** Where it can be reached. `stop`: of one that was started here. */
export type Restate = { ingressUrl: string; adminUrl: string; stop?: () => Promise<void> };

/** Where each can be reached, once it is ready; at once if it is one of the settings. */
export type Servers = {
  /** postgres://…, maybe with a password. */
  database: Promise<string>;
  /** Resolves once Postgres, or what sets it up, runs by itself, or has failed. */
  launched: Promise<unknown>;
  /** Begins Restate. Must not be called before it is sure that this program may use the database. */
  beginRestate: () => Promise<Restate>;
};

/** A server that cannot start fails the program at once, whatever else is starting. */
export function beginServers(base: Base, stops: Stops): Servers {
  const launched = Promise.withResolvers<void>();
  const database = failing(base, beginPostgres(base, stops, launched.resolve));
  return {
    database,
    launched: Promise.race([launched.promise, database.catch(() => {})]),
    beginRestate: () => failing(base, beginRestate(base, stops)),
  };
}

function failing<Server>({ fail }: Base, server: Promise<Server>): Promise<Server> {
  server.catch(fail);
  return server;
}

async function beginPostgres(base: Base, stops: Stops, onLaunch: () => void): Promise<string> {
  const { config, log, dataDir, credentials } = base;
  const { url, port } = config.database;
  if (url !== "") return url;
  const password = credentials.database_password;
  const settings = { dataDir, port, password, log, signal: stops.signal, onLaunch };
  return (await stops.begin("Postgres", () => startPostgres(settings))).url;
}

async function beginRestate(base: Base, stops: Stops): Promise<Restate> {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const settings = { dataDir, identityKeyFile, log, signal: stops.signal };
  return stops.begin("Restate", () => startRestate(settings));
}
