/** Wires what each thread of the API needs of its certificate, and of keys that seal. */
import type { FastifyInstance } from "fastify";
import { createKeyRing, type KeyRing } from "#api/keys/recoverable/key-ring.ts";
import { createChallengeServer, createRenewCertificate } from "#api/tls/acme.ts";
import { type CertificateStore, createCertificateStore } from "#api/tls/certificate-store.ts";
import { type HttpsServer, startHttpsServer } from "#api/tls/https-server.ts";
import type { RenewCertificate } from "#cron/jobs/keys.ts";
import type { Database } from "#kernel/database.ts";
import { listening, requireFreePort } from "#kernel/server.ts";
import type { Base } from "./base.ts";
import { callersLimitMs, type Stops } from "./stops.ts";

/** Seals data in Postgres. All processes must have the same keys. */
export function createBaseKeyRing({ config, credentials }: Base): KeyRing {
  const set = config.api.encryption_keys;
  return createKeyRing(set.length > 0 ? set : [credentials.encryption_key]);
}

type HttpsParts = {
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

function createBaseStore(base: Base, database: Database): CertificateStore {
  return createCertificateStore({ database, keyRing: createBaseKeyRing(base), log: base.log });
}

/** Opens the two ports if the settings have host names for the API. */
export async function startTls(base: Base, parts: HttpsParts): Promise<HttpsServer | undefined> {
  const { config, log } = base;
  const { names, host, http_port, https_port } = config.acme;
  if (names.length === 0) return undefined;
  const challenges = createChallengeServer({ store: createBaseStore(base, parts.database), log });
  parts.stops.add("ACME challenges", () => challenges.close());
  const challengesAt = await listening(challenges.listen({ host, port: http_port }), {
    port: http_port,
    setting: "acme.http_port",
  });
  if (parts.reusePort) {
    await requireFreePort({ host, port: https_port, setting: "acme.https_port" });
  }
  const https = await serveHttps(base, { ...parts, port: https_port });
  log.info({ names, httpsPort: https.port, challengesAt }, "public API by HTTPS");
  return https;
}

export function createRenewal(base: Base, database: Database): RenewCertificate | undefined {
  const { names, directory_url: directoryUrl, email } = base.config.acme;
  if (names.length === 0) return undefined;
  const store = createBaseStore(base, database);
  return createRenewCertificate({ names, directoryUrl, email, store, clock: Date.now });
}
