/** Wires what each thread of the API needs of its certificate, and of keys that seal. */
import type { FastifyInstance } from "fastify";
import { createKeyRing, type KeyRing } from "#api/keys/recoverable/key-ring.ts";
import { type CertificateStore, createCertificateStore } from "#api/tls/certificate-store.ts";
import { type HttpsServer, startHttpsServer } from "#api/tls/https-server.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import type { Base } from "./base.ts";
import { callersLimitMs, type Stops } from "./stops.ts";

/** Seals data in Postgres. All processes must have the same keys. */
export function createBaseKeyRing({ config, credentials }: Base): KeyRing {
  const set = config.api.encryption_keys;
  return createKeyRing(set.length > 0 ? set : [credentials.encryption_key]);
}

export type HttpsParts = {
  api: FastifyInstance;
  database: Database;
  stops: Stops;
  /** True if further threads listen at the same port. */
  reusePort: boolean;
};

/** HTTPS of one thread. */
export async function serveHttps(
  base: Base,
  parts: HttpsParts & { port: number },
): Promise<HttpsServer> {
  const { config, log, registry } = base;
  const { names, host } = config.acme;
  const { api, database, port, reusePort, stops } = parts;
  const store = createBaseStore(base, database);
  const https = await listening(
    startHttpsServer(
      { api, readCertificate: () => store.read(names), log, registry },
      { host, port, ...(reusePort && { reusePort }) },
    ),
    { port, setting: "acme.https_port" },
  );
  stops.add("HTTPS", https.close, callersLimitMs);
  return https;
}

export function createBaseStore(base: Base, database: Database): CertificateStore {
  return createCertificateStore({ database, keyRing: createBaseKeyRing(base), log: base.log });
}
