/** Orders a certificate for the API's own names by ACME (RFC 8555), and answers its challenges (HTTP-01). */
import { X509Certificate } from "node:crypto";
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import pLimit from "p-limit";
import { createTimeLimit } from "#api/http/time-limit.ts";
import { onceAtATime } from "#kernel/async.ts";
import { cleanWords, type Log } from "#kernel/log.ts";
import { invariant, ProblemError } from "#kernel/problem.ts";
import { limitPipelines } from "#kernel/server.ts";
import type { Certificate, CertificateStore } from "./certificate-store.ts";

type RenewParts = {
  names: readonly string[];
  directoryUrl: string;
  /** Empty: the account has none. */
  email: string;
  store: CertificateStore;
  clock: () => number;
  /** The interval at which the order's status is polled. */
  pollEveryMs?: number;
  orderTimeoutMs?: number;
  /** Age at which an order that nobody waits for is given up: until then no other starts. */
  orderAtMostMs?: number;
};

/** `isNew`: it was issued by this call. */
type Renewal = { isNew: boolean; expiresMs: number };

const requestTimeoutMs = 15_000;
const largestAnswer = 1_048_576;
const usualOrderTimeoutMs = 180_000;
const maxPolls = 20;

/** A certificate is renewed when less than this share of its lifetime is left: 30 days of 90. */
const renewalShare = 1 / 3;

/** Renews the certificate if it is due. Throws a `ProblemError` if the authority refuses, else an error for no answer. */
export function createRenewCertificate(parts: RenewParts): () => Promise<Renewal> {
  const { names, store, clock, orderTimeoutMs = usualOrderTimeoutMs } = parts;
  const limitTime = createTimeLimit(orderTimeoutMs, tooLong);
  // A certificate that is issued after the timeout is stored too: authorities limit them per week.
  const orderAndKeep = onceAtATime(async (): Promise<Certificate> => {
    const certificate = await order(parts).catch((error) => {
      throw toFailure(error, parts.directoryUrl);
    });
    await store.write(names, certificate);
    return certificate;
  });
  return async () => {
    const current = await store.read(names);
    if (current !== undefined && !isDue(current, clock())) {
      return { isNew: false, expiresMs: current.expiresMs };
    }
    const certificate = await limitTime(orderAndKeep());
    await store.removeExpired();
    return { isNew: true, expiresMs: certificate.expiresMs };
  };
}

export function isDue({ issuedMs, expiresMs }: Certificate, nowMs: number): boolean {
  return expiresMs - nowMs < (expiresMs - issuedMs) * renewalShare;
}

async function order(parts: RenewParts): Promise<Certificate> {
  const { names, email, store } = parts;
  const acme = await loadAcme();
  const client = await connect(parts);
  const [privateKey, csr] = await acme.crypto.createCsr(
    { altNames: [...names] },
    await acme.crypto.createPrivateEcdsaKey(),
  );
  const chain = await client.auto({
    csr,
    termsOfServiceAgreed: true,
    ...(email !== "" && { email }),
    challengePriority: ["http-01"],
    // A look-up from here says nothing about how the authority sees the names.
    skipChallengeVerification: true,
    challengeCreateFn: async (_, { type, token }, answer) => {
      if (type !== "http-01") throw new Error(`the authority offers ${type} and no http-01`);
      await store.addChallenge(token, answer);
    },
    challengeRemoveFn: (_, { token }) => store.removeChallenge(token),
  });
  return toCertificate(chain, privateKey.toString(), names);
}

/** Loaded when the first certificate is ordered: most installations order none, and it is large. */
async function loadAcme() {
  return (await import("acme-client")).default;
}

async function connect(parts: RenewParts) {
  const { directoryUrl, store, pollEveryMs = 2_000, orderAtMostMs = 600_000 } = parts;
  const acme = await loadAcme();
  acme.axios.defaults.timeout = requestTimeoutMs;
  // A request's own timeout begins anew with each byte, and with each redirect.
  acme.axios.defaults.signal = AbortSignal.timeout(orderAtMostMs);
  acme.axios.defaults.maxContentLength = largestAnswer;
  // The library would wait for as long as a Retry-After says: the timed job runs again by itself.
  Object.assign(acme.axios.defaults, { acmeSettings: { retryMaxAttempts: 0 } });
  let accountKey = await store.readAccount(directoryUrl);
  if (accountKey === undefined) {
    accountKey = (await acme.crypto.createPrivateEcdsaKey()).toString();
    await store.writeAccount(directoryUrl, accountKey);
  }
  return new acme.Client({
    directoryUrl,
    accountKey,
    backoffAttempts: maxPolls,
    backoffMin: pollEveryMs,
    backoffMax: 5 * pollEveryMs,
  });
}

function tooLong(): ProblemError {
  return new ProblemError({ status: 502, code: "not_renewed", detail: "the order took too long" });
}

/** A refusal by the authority becomes a `ProblemError`; other failures may be transient. */
function toFailure(error: Error & { code?: string }, directoryUrl: string): Error {
  // acme-client 5.4 throws a TypeError for a missing answer and for a bare error (axios.js, util.js).
  if (error instanceof TypeError) {
    return new Error(`no usable answer from ${directoryUrl}`, { cause: error });
  }
  // An error of Postgres, or of a connection.
  if (error.code !== undefined) return error;
  const detail = cleanWords(error.message, 500);
  return new ProblemError({ status: 502, code: "not_renewed", detail }, { cause: error });
}

/** Throws when the chain is not what was ordered. */
function toCertificate(chain: string, privateKey: string, names: readonly string[]): Certificate {
  const certificate = new X509Certificate(chain);
  const covers = names.every((name) => certificate.checkHost(name.replace(/^\*\./, "any.")));
  invariant(covers, `the certificate is for ${certificate.subjectAltName}`);
  const issuedMs = certificate.validFromDate.getTime();
  return { chain, privateKey, issuedMs, expiresMs: certificate.validToDate.getTime() };
}

type ChallengeParts = { store: Pick<CertificateStore, "readChallenge">; log: Log };

/** Base64url, as authorities create them; nothing else is looked up. */
const tokenPattern = /^[\w-]{1,256}$/;

/** Each request is a query on the shared pool: so many run, so many wait. An authority may take a refusal for a failure. */
const lane = { width: 2, length: 2_000 };

/** Answers challenges (section 8.3) and nothing else, by plain HTTP without authentication. The caller calls `listen` and `close`. */
export function createChallengeServer({ store, log }: ChallengeParts): FastifyInstance {
  const app = fastify({
    bodyLimit: 1_024,
    routerOptions: { maxParamLength: 512 },
    requestTimeout: 10_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 500 },
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => answer(reply as FastifyReply, 400),
  });
  limitPipelines(app);
  const inTurn = pLimit(lane.width);
  app.get<{ Params: { token: string } }>(
    "/.well-known/acme-challenge/:token",
    async ({ params: { token } }, reply) => {
      if (!tokenPattern.test(token)) return answer(reply, 404);
      if (inTurn.pendingCount >= lane.length) return answer(reply, 503);
      const proof = await inTurn(() => store.readChallenge(token));
      if (proof === undefined) return answer(reply, 404);
      return reply.type("application/octet-stream").send(proof);
    },
  );
  app.setNotFoundHandler((_request, reply) => answer(reply, 404));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log.warn({ err: error }, "challenge not answered");
    return answer(reply, status);
  });
  return app;
}

const texts: Record<number, string> = {
  400: "400 bad request",
  404: "404 page not found",
  503: "503 not available now",
};

/** The body names the status only, not the cause. */
function answer(reply: FastifyReply, status: number): FastifyReply {
  return reply
    .code(status)
    .type("text/plain")
    .send(`${texts[status] ?? status}\n`);
}
