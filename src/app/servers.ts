/** The servers that the program brings along, unless the settings name others: each runs in processes of its own. */
import { webcrypto } from "node:crypto";
import { isIP } from "node:net";
import type { Config } from "#config.ts";
import { writeIdentityKey } from "#embedded/credentials.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import type { EndpointSettings } from "#worker/endpoint.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

/** Addresses of Restate. `stop`: stops one that was started here. `workerTls`: the certificate by which it knows the worker. */
export type Restate = {
  ingressUrl: string;
  adminUrl: string;
  stop?: () => Promise<void>;
  workerTls?: EndpointSettings["tls"];
};

/** Addresses of each server, once it is ready; at once if it is one of the settings. */
export type Servers = {
  /** postgres://…, maybe with a password. */
  database: Promise<string>;
  /** Resolves once Postgres, or what sets it up, runs by itself, or has failed. */
  launched: Promise<unknown>;
  /** Begins Restate. Must not be called before it is sure that this program may use the database. */
  startRestate: () => Promise<Restate>;
};

/** A server that cannot start fails the program at once, whatever else is starting. */
export function startServers(base: Base, stops: Stops): Servers {
  const launched = Promise.withResolvers<void>();
  const database = failing(base, launchPostgres(base, stops, launched.resolve));
  // Made while Postgres starts.
  const workerTls = failing(base, createWorkerTls(base.config));
  return {
    database,
    launched: Promise.race([launched.promise, database.catch(() => {})]),
    startRestate: () => failing(base, launchRestate(base, stops, workerTls)),
  };
}

function failing<Server>({ fail }: Base, server: Promise<Server>): Promise<Server> {
  server.catch(fail);
  return server;
}

async function launchPostgres(base: Base, stops: Stops, onLaunch: () => void): Promise<string> {
  const { config, log, dataDir, credentials } = base;
  const { url, port } = config.database;
  if (url !== "") return url;
  const password = credentials.database_password;
  const settings = { dataDir, port, password, log, signal: stops.signal, onLaunch };
  return (await stops.start("Postgres", () => startPostgres(settings))).url;
}

async function launchRestate(
  base: Base,
  stops: Stops,
  tls: ReturnType<typeof createWorkerTls>,
): Promise<Restate> {
  const { config, log, dataDir, credentials } = base;
  const { ingress_url, admin_url } = config.restate;
  if (ingress_url !== "") return { ingressUrl: ingress_url, adminUrl: admin_url };
  const identityKeyFile = writeIdentityKey(dataDir, credentials);
  const workerTls = await tls;
  const keys = { identityKeyFile, workerCertificate: workerTls?.cert };
  const settings = { ...keys, dataDir, log, signal: stops.signal };
  return { ...(await stops.start("Restate", () => startRestate(settings))), workerTls };
}

/**
 * Makes the certificate of this start, which is stored nowhere: other users of the machine may listen at the worker's port
 * while it does not, and would be called in its place. undefined: Restate is another's, or the settings say where it calls, or
 * it trusts what this platform does.
 */
async function createWorkerTls({ restate, worker: { host, advertised_url } }: Config) {
  if (restate.ingress_url !== "" || advertised_url !== "" || process.platform !== "linux") {
    return undefined;
  }
  await import("reflect-metadata");
  const { PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } = await import(
    "@peculiar/x509"
  );
  const signingAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(signingAlgorithm, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    keys,
    signingAlgorithm,
    name: "CN=worker",
    notBefore: new Date(0),
    notAfter: new Date("9999-12-31"),
    extensions: [
      new SubjectAlternativeNameExtension([{ type: isIP(host) === 0 ? "dns" : "ip", value: host }]),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { key: PemConverter.encode(key, "PRIVATE KEY"), cert: certificate.toString("pem") };
}
