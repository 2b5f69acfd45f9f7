/** Wires HTTPS for the API's own host names, and the renewal of its certificate. */
import type { FastifyInstance } from "fastify";
import { createKeyRing, type KeyRing } from "#api/keys/recoverable/key-ring.ts";
import { type CertificateStore, createCertificateStore } from "#api/tls/certificate-store.ts";
import { createChallengeServer } from "#api/tls/challenge-server.ts";
import { startHttpsServer } from "#api/tls/https-server.ts";
import { createRenewCertificate } from "#api/tls/renew.ts";
import type { RenewCertificate } from "#cron/jobs/certificate-renewal.ts";
import type { Database } from "#kernel/database.ts";
import { listening } from "#kernel/listen.ts";
import type { Base } from "./base.ts";
import { callersLimitMs, type Stops } from "./stops.ts";

/** Seals data in Postgres. All processes must have the same keys. */
export function createBaseKeyRing({ config, credentials }: Base): KeyRing {
  const set = config.api.encryption_keys;
  return createKeyRing(set.length > 0 ? set : [credentials.encryption_key]);
}

type TlsParts = { api: FastifyInstance; database: Database; stops: Stops };

/** Opens the two ports if the settings have host names for the API. */
export async function startTls(base: Base, { api, database, stops }: TlsParts): Promise<void> {
  const { config, log, registry } = base;
  const { names, host, http_port, https_port } = config.acme;
  if (names.length === 0) return;
  const store = createBaseStore(base, database);
  const challenges = createChallengeServer({ store, log });
  stops.add("ACME challenges", () => challenges.close());
  const challengesAt = await listening(challenges.listen({ host, port: http_port }), {
    port: http_port,
    setting: "acme.http_port",
  });
  const https = await listening(
    startHttpsServer(
      { api, readCertificate: () => store.read(names), log, registry },
      { host, port: https_port },
    ),
    { port: https_port, setting: "acme.https_port" },
  );
  stops.add("HTTPS", https.close, callersLimitMs);
  log.info({ names, httpsPort: https.port, challengesAt }, "public API by HTTPS");
}

/** Undefined when the settings have no host names. */
export function createRenewal(base: Base, database: Database): RenewCertificate | undefined {
  const { names, directory_url: directoryUrl, email } = base.config.acme;
  if (names.length === 0) return undefined;
  const store = createBaseStore(base, database);
  return createRenewCertificate({ names, directoryUrl, email, store, clock: Date.now });
}

function createBaseStore(base: Base, database: Database): CertificateStore {
  return createCertificateStore({ database, keyRing: createBaseKeyRing(base), log: base.log });
}
