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
};

/** A server that cannot start fails the program at once, whatever else is starting. */
export function beginServers(
  base: Base,
  { roles, stops }: { roles: readonly string[]; stops: Stops },
): Servers {
  const database = beginPostgres(base, stops);
  database.catch(base.fail);
  const usesRestate = roles.some((role) => role !== "api");
  const restate = usesRestate ? beginRestate(base, stops) : undefined;
  restate?.catch(base.fail);
  return { database, restate };
}

async function beginPostgres(base: Base, stops: Stops): Promise<string> {
  const { config, log, dataDir, credentials } = base;
  const { url, port } = config.database;
  if (url !== "") return url;
  const password = credentials.database_password;
  const settings = { dataDir, port, password, log, signal: stops.signal };
  return (await stops.begin("Postgres", () => startPostgres(settings))).url;
}

async function beginRestate(base: Base, stops: Stops): Promise<RestateUrls> {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const settings = { dataDir, identityKeyFile, log, signal: stops.signal };
  return stops.begin("Restate", () => startRestate(settings));
}
