/** The API by HTTPS, with a certificate that is renewed while the program runs. */
import { createServer, type Server } from "node:https";
import { createSecureContext, type SecureContext } from "node:tls";
import { promisify } from "node:util";
import type { FastifyInstance } from "fastify";
import { Gauge, type Registry } from "prom-client";
import { drain } from "#api/http/close.ts";
import { onceAtATime } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { createPipelineLimit } from "#kernel/server.ts";
import type { Certificate } from "./certificate-store.ts";

export type HttpsParts = {
  /** The API, which also serves by HTTP. It must be ready. */
  api: FastifyInstance;
  /** Reads the current certificate; undefined: none yet. */
  readCertificate: () => Promise<Certificate | undefined>;
  log: Log;
  registry: Registry;
  /** The interval at which a new certificate is looked for. */
  pollEveryMs?: number;
};

export type HttpsServer = {
  port: number;
  /** Accepts no new connections and lets requests in flight finish. May be called again. */
  close: () => Promise<void>;
};

/** `reusePort`: whether several threads listen there. */
type ListenAt = { host: string; port: number; reusePort?: boolean };

const handshakeTimeoutMs = 10_000;

/** Starts the server; until there is a certificate, handshakes fail. */
export async function startHttpsServer(parts: HttpsParts, at: ListenAt): Promise<HttpsServer> {
  const inUse: CertificateInUse = { context: undefined };
  const server = createServerFor(parts.api, async () => {
    // Another thread may use it already.
    if (inUse.context === undefined) await poll();
    return inUse.context;
  });
  const poll = createPoll(server, inUse, parts);
  await poll();
  const port = await listen(server, at);
  const timer = setInterval(() => void poll(), parts.pollEveryMs ?? 10_000).unref();
  let closing: Promise<void> | undefined;
  return {
    port,
    close: () => {
      clearInterval(timer);
      closing ??= drain(server, promisify(server.close.bind(server)));
      return closing;
    },
  };
}

/** The certificate that this thread has found; undefined: none yet. */
type CertificateInUse = { context: SecureContext | undefined };

/** Sets the same limits for slow and broken clients as the API's HTTP server. */
function createServerFor(
  api: FastifyInstance,
  readContext: () => Promise<SecureContext | undefined>,
): Server {
  const { headersTimeout, requestTimeout, keepAliveTimeout, timeout } = api.server;
  const server = createServer(
    {
      headersTimeout,
      requestTimeout,
      keepAliveTimeout,
      connectionsCheckingInterval: 500,
      handshakeTimeout: handshakeTimeoutMs,
      minVersion: "TLSv1.2",
      ALPNProtocols: ["http/1.1"],
      // Without a context the server's own is used, which is the same one as soon as there is one.
      SNICallback: (_name, done) => {
        readContext().then((context) => done(null, context), done);
      },
    },
    (request, response) => api.routing(request, response),
  );
  server.prependListener("request", createPipelineLimit().admit);
  server.timeout = timeout;
  for (const listener of api.server.listeners("clientError")) {
    server.on("clientError", listener as (error: Error) => void);
  }
  return server;
}

/** Puts a new certificate into use; open connections keep theirs. */
function createPoll(
  server: Server,
  inUse: CertificateInUse,
  { readCertificate, log, registry }: HttpsParts,
): () => Promise<void> {
  const expiry = new Gauge({
    name: "vedette_api_certificate_expires_timestamp_seconds",
    help: "When the served certificate expires; 0: there is none yet.",
    aggregator: "min",
    registers: [registry],
  });
  let served: string | undefined;
  const poll = async () => {
    try {
      const certificate = await readCertificate();
      if (certificate === undefined || certificate.chain === served) return;
      const { chain, privateKey, expiresMs } = certificate;
      const options = { cert: chain, key: privateKey, minVersion: "TLSv1.2" } as const;
      server.setSecureContext(options);
      inUse.context = createSecureContext(options);
      served = chain;
      expiry.set(expiresMs / 1_000);
      log.info({ expiresAt: new Date(expiresMs).toISOString() }, "certificate in use");
    } catch (error) {
      log.warn({ detail: (error as Error).message }, "certificate not read");
    }
  };
  // Handshakes that wait for the first certificate share one look.
  return onceAtATime(poll);
}

async function listen(server: Server, at: ListenAt): Promise<number> {
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(at, listening.resolve);
  await listening.promise;
  server.off("error", listening.reject);
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : at.port;
}
