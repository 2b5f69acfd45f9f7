/** One installation's certificates: a database, a challenge server and an authority that asks it. */
import { randomBytes } from "node:crypto";
import { type FastifyInstance, fastify } from "fastify";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import { createKeyRing } from "#api/keys/recoverable/key-ring.ts";
import { createChallengeServer, createRenewCertificate } from "#api/tls/acme.ts";
import { createCertificateStore } from "#api/tls/certificate-store.ts";
import { startHttpsServer } from "#api/tls/https-server.ts";
import type { Database } from "#kernel/database.ts";
import { startAcmeDirectory } from "./acme-directory.ts";

type RenewLimits = { orderTimeoutMs: number; orderAtMostMs?: number };

type Options = { lifetimeDays?: number };

const names = ["api.example.test", "eu.example.test"];

/** Empties the tables first; everything is stopped when the test that asks for it ends. */
export async function prepareCertificates(database: Database, { lifetimeDays = 90 }: Options = {}) {
  await database.query("TRUNCATE certificates, acme_challenges, acme_accounts");
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line) => logLines.push(line) });
  const openStore = (encryptionKey: string) =>
    createCertificateStore({ database, keyRing: createKeyRing([encryptionKey]), log });
  const store = openStore(newEncryptionKey());
  const challenges = createChallengeServer({ store, log });
  onTestFinished(() => challenges.close());
  const challengesAt = await challenges.listen({ host: "127.0.0.1", port: 0 });
  const directory = await startAcmeDirectory({ challengesAt: () => challengesAt, lifetimeDays });
  onTestFinished(directory.stop);

  const renewParts = {
    names,
    directoryUrl: directory.url,
    email: "operator@example.test",
    pollEveryMs: 20,
  };

  /** Renews what is due `inDays` from now. */
  const renew = (inDays = 0, over = store) =>
    createRenewCertificate({
      ...renewParts,
      store: over,
      clock: () => Date.now() + inDays * 86_400_000,
    })();

  /** As `renew`, by one program that waits for an order no longer than this. */
  const renewWithin = (orderTimeoutMs: number) =>
    createRenewCertificate({ ...renewParts, store, clock: Date.now, orderTimeoutMs });

  /** As `renewWithin`, at another authority. */
  const renewAt = (directoryUrl: string, limits: RenewLimits) =>
    createRenewCertificate({ ...renewParts, store, clock: Date.now, directoryUrl, ...limits });

  return {
    store,
    names,
    challengesAt,
    directory,
    renew,
    renewWithin,
    renewAt,
    logLines,
    /** What another encryption key opens. */
    otherStore: () => openStore(newEncryptionKey()),
    /** As one process serves `api`. */
    serve: async (api: FastifyInstance) => {
      const registry = new Registry();
      const readCertificate = () => store.read(names);
      const parts = { api, readCertificate, log, registry, pollEveryMs: 50 };
      const server = await startHttpsServer(parts, { host: "127.0.0.1", port: 0 });
      onTestFinished(server.close);
      return { port: server.port, registry, name: names[0] as string, root: directory.root };
    },
  };
}

/** An API that answers at once, and at /slow when it is let go. */
export async function smallApi() {
  const gate = Promise.withResolvers<string>();
  const reached = Promise.withResolvers<void>();
  const api = fastify({ requestTimeout: 500, http: { headersTimeout: 500 } });
  api.get("/", async () => "here");
  api.get("/slow", () => {
    reached.resolve();
    return gate.promise;
  });
  await api.ready();
  onTestFinished(() => api.close());
  return { api, letGo: () => gate.resolve("done"), reached: reached.promise };
}

function newEncryptionKey(): string {
  return `${randomBytes(4).toString("hex")}:${randomBytes(32).toString("base64")}`;
}
