/** Wires HTTPS for the API's own host names, and the renewal of its certificate. */
import { createChallengeServer } from "#api/tls/challenge-server.ts";
import type { HttpsServer } from "#api/tls/https-server.ts";
import { createRenewCertificate } from "#api/tls/renew.ts";
import type { RenewCertificate } from "#cron/jobs/certificate-renewal.ts";
import type { Database } from "#kernel/database.ts";
import { listening, requireFreePort } from "#kernel/listen.ts";
import type { Base } from "./base.ts";
import { createBaseStore, type HttpsParts, serveHttps } from "./https.ts";

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

/** Undefined when the settings have no host names. */
export function createRenewal(base: Base, database: Database): RenewCertificate | undefined {
  const { names, directory_url: directoryUrl, email } = base.config.acme;
  if (names.length === 0) return undefined;
  const store = createBaseStore(base, database);
  return createRenewCertificate({ names, directoryUrl, email, store, clock: Date.now });
}
