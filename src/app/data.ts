/** Wires Postgres and Restate: the embedded ones, or those that the settings name. */
import { writeIdentityKey } from "#embedded/credentials.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import type { Database } from "#kernel/database.ts";
import { migrate, openDatabase } from "#kernel/database.ts";
import type { Base } from "./base.ts";
import { claimEncryptionKeys, refuseOtherKeys } from "./encryption-keys.ts";
import { requireSoleProcess } from "./sole-processes.ts";
import type { Stops } from "./stops.ts";

export type ApiDatabase = {
  database: Database;
  databaseUrl: string;
  /** Of Postgres itself, even if `databaseUrl` is a pooler's. */
  directUrl: string;
};

export async function startDatabase(
  base: Base,
  { roles, stops }: { roles: readonly string[]; stops: Stops },
): Promise<ApiDatabase> {
  const { config, log, dataDir, credentials } = base;
  let { url } = config.database;
  if (url === "") {
    const { port } = config.database;
    const password = credentials.database_password;
    const settings = { dataDir, port, password, log, signal: stops.signal };
    const server = await stops.begin("Postgres", () => startPostgres(settings));
    url = server.url;
  }
  const { direct_url } = config.database;
  const directUrl = direct_url || url;
  const mayBePooled = direct_url !== "";
  await requireSoleProcess(base, { roles, directUrl, mayBePooled, stops });
  const database = openDatabase(url, log);
  stops.add("database", () => database.end());
  await refuseOtherKeys(base, { roles, database });
  await migrate(directUrl, log, { mayBePooled });
  await claimEncryptionKeys(base, { roles, database });
  return { database, databaseUrl: url, directUrl };
}

export async function startRestateServer(base: Base, stops: Stops) {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const settings = { dataDir, identityKeyFile, log, signal: stops.signal };
  return stops.begin("Restate", () => startRestate(settings));
}
