/** Finds the database of a Vedette that runs on this machine. */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { readIfThere, writeFileAtomically } from "#kernel/files.ts";
import {
  identifyProcess,
  isAlive,
  isGone,
  isInSight,
  type ProcessIdentity,
} from "#kernel/process.ts";
import { Credentials, Endpoints, Process } from "./contract.ts";
import { databaseUser, requireProof } from "./postgres-cluster.ts";

/** The process that the file names; undefined when the file is absent or invalid. */
export function readIdentity(path: string): ProcessIdentity | undefined {
  try {
    return Process.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    return undefined;
  }
}

/** Writes `<dataDir>/endpoints.json`; the returned function removes it, unless another program replaced it. */
export function publishEndpoints(dataDir: string, endpoints: Endpoints): () => void {
  const file = path.join(dataDir, "endpoints.json");
  const own = `${JSON.stringify({ ...endpoints, process: identifyProcess(process.pid) }, null, 2)}\n`;
  writeFileAtomically(file, own);
  return () => {
    if (readIfThere(file) === own) rmSync(file, { force: true });
  };
}

/** The embedded Postgres' URL with its password: a secret. Throws what to do when no Vedette runs on `dataDir`. */
export function runningDatabaseUrl(dataDir: string): string {
  const { database } = readRunning(dataDir);
  if (database === undefined) throw new Error(`the Vedette on ${dataDir} has no embedded Postgres`);
  const file = "credentials.json";
  const secret = read(dataDir, file, Credentials.pick({ database_password: true }));
  const url = new URL(database);
  url.search = requireProof;
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
  url.search = "";
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
  const holder = holderOf(dataDir);
  const start = 'start one with "vedette start", or set database.url';
  const advice = holder === undefined ? start : `process ${holder} starts one there, or ends it`;
  return new Error(`no Vedette runs on ${path.resolve(dataDir)}: ${advice}`);
}

/** The process that has the data directory, which may not have started yet; undefined: none that can be seen from here. */
export function holderOf(dataDir: string): number | undefined {
  const holder = readIdentity(path.join(dataDir, "vedette.lock"));
  return holder && isInSight(holder) && isAlive(holder) ? holder.pid : undefined;
}
