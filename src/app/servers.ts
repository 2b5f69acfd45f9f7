/** Starts Postgres and Restate in processes of their own, unless the settings name others, and Restate's guarded addresses. */
import { webcrypto } from "node:crypto";
import type { Server } from "node:http";
import { isIP } from "node:net";
import type { Config } from "#config.ts";
import { createIsKeyReused } from "#control/call-keys.ts";
import { createAdminFront, createIngressFront, type Front } from "#control/front/front.ts";
import type { SignIn } from "#control/sign-in/sign-in.ts";
import { createFindCaller, createIdentify } from "#control/token.ts";
import { writeIdentityKey } from "#embedded/credentials.ts";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { httpUrl } from "#kernel/address.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/server.ts";
import type { EndpointSettings } from "#worker/endpoint.ts";
import type { Base } from "./base.ts";
import { fleetsOf } from "./fleets.ts";
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

type FrontParts = {
  ingressUrl: string;
  adminUrl: string;
  actorKey: Uint8Array;
  signIn: SignIn | undefined;
  database: Database;
  stops: Stops;
};

/** `addresses` are for `endpoints.json`; `close` may be called more than once. */
type RestateFront = {
  addresses: { restate_ingress: string; restate_admin: string };
  close: () => Promise<unknown>;
};

/** Starts the front, unless Restate is external and no `front_host` is set: then the addresses are its own. */
export async function startRestateFront(base: Base, parts: FrontParts): Promise<RestateFront> {
  const { config, credentials, log } = base;
  const { ingressUrl, adminUrl, actorKey, stops } = parts;
  const { operators } = config.control;
  const byToken = createIdentify({ ingressToken: credentials.ingress_token, operators });
  const identify = createFindCaller(byToken, parts.signIn?.find, parts.signIn?.link);
  const fleets = fleetsOf(config);
  const isKeyReused = createIsKeyReused(parts.database, log);
  const settings = { ingressUrl, adminUrl, identify, actorKey, fleets, isKeyReused, log };
  const { ingress_port: ingressPort, admin_port: adminPort, front_host } = config.restate;
  const isExternal = config.restate.ingress_url !== "";
  if (isExternal && front_host === "") {
    const addresses = { restate_ingress: ingressUrl, restate_admin: adminUrl };
    return { addresses, close: async () => {} };
  }
  const host = isExternal ? front_host : "127.0.0.1";
  const start = async ({ server, close }: Front, port: number, setting: string) => {
    const address = await listening(listen(server, { host, port }), { port, setting });
    stops.add(setting, close);
    base.own("Restate", address);
    return address;
  };
  const fronts = { ingress: createIngressFront(settings), admin: createAdminFront(settings) };
  const addresses = {
    restate_ingress: await start(fronts.ingress, ingressPort, "restate.ingress_port"),
    restate_admin: await start(fronts.admin, adminPort, "restate.admin_port"),
  };
  return { addresses, close: () => Promise.all([fronts.ingress.close(), fronts.admin.close()]) };
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      const at = server.address();
      resolve(httpUrl({ host, port: typeof at === "object" ? (at?.port ?? port) : port }));
    });
  });
}
