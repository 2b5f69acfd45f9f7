/** Finds the database of a Vedette that runs on this machine. */
import path from "node:path";
import { isGone } from "#kernel/owned-process.ts";
import { readIfThere } from "#kernel/read-if-there.ts";
import { Credentials, Endpoints } from "./contract.ts";
import { databaseUser } from "./postgres-cluster.ts";

/**
 * The URL of the embedded Postgres of the Vedette that runs on `dataDir`, with its password: a secret.
 * Throws an error that says what to do when none runs there.
 */
export function runningDatabaseUrl(dataDir: string): string {
  const { database } = readRunning(dataDir);
  if (database === undefined) throw new Error(`the Vedette on ${dataDir} has no embedded Postgres`);
  const file = "credentials.json";
  const secret = read(dataDir, file, Credentials.pick({ database_password: true }));
  const url = new URL(database);
  url.username = databaseUser;
  url.password = secret.database_password;
  return url.href;
}

/** The addresses of the Vedette that runs on `dataDir`. Throws when none does. */
export function readRunning(dataDir: string): Endpoints {
  const endpoints = read(dataDir, "endpoints.json", Endpoints);
  if (endpoints.process !== undefined && isGone(endpoints.process)) throw nothingRuns(dataDir);
  return endpoints;
}

/** The URL without user and password, safe to show. */
export function withoutCredentials(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.username = "";
  url.password = "";
  return url.href;
}

function read<T>(dataDir: string, name: string, schema: { parse: (value: unknown) => T }): T {
  const file = path.join(dataDir, name);
  const text = readIfThere(file);
  if (text === undefined) throw nothingRuns(dataDir);
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new Error(`${file} is damaged`);
  }
}

function nothingRuns(dataDir: string): Error {
  return new Error(
    `no Vedette runs on ${path.resolve(dataDir)}: start one with "vedette start", or set database.url`,
  );
}
