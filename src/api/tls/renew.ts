/** Gets a certificate of the API's own names by ACME (RFC 8555), proven by HTTP-01. */
import { X509Certificate } from "node:crypto";
import acme from "acme-client";
import { createTimeLimit } from "#api/http/time-limit.ts";
import { invariant } from "#kernel/invariant.ts";
import { ProblemError } from "#kernel/problem.ts";
import type { Certificate, CertificateStore } from "./certificate-store.ts";

export type RenewParts = {
  names: readonly string[];
  directoryUrl: string;
  /** Empty: the authority is told none. */
  email: string;
  store: CertificateStore;
  clock: () => number;
  /** How often the authority is asked whether it has made up its mind. */
  askEveryMs?: number;
  /** How long an order is waited for. */
  orderTimeoutMs?: number;
};

/** `isNew`: it was got just now. */
export type Renewal = { isNew: boolean; expiresMs: number };

const requestTimeoutMs = 15_000;
const usualOrderTimeoutMs = 180_000;
const askAtMost = 20;

/** A certificate is renewed when less of its life is left: 30 days of 90. */
const leastLeft = 1 / 3;

/**
 * Answers what there is, or gets what is due. Throws a `ProblemError` when the authority refuses, and
 * anything else when it, or Postgres, does not answer.
 */
export function createRenewCertificate(parts: RenewParts): () => Promise<Renewal> {
  const { names, store, clock, orderTimeoutMs = usualOrderTimeoutMs } = parts;
  const limitTime = createTimeLimit(orderTimeoutMs, tooLong);
  let ordering: Promise<Certificate> | undefined;
  const orderAndKeep = async (): Promise<Certificate> => {
    const certificate = await order(parts).catch((error) => {
      throw toFailure(error, parts.directoryUrl);
    });
    await store.write(names, certificate);
    return certificate;
  };
  return async () => {
    const current = await store.read(names);
    if (current !== undefined && !isDue(current, clock())) {
      return { isNew: false, expiresMs: current.expiresMs };
    }
    // One that comes late is kept all the same: an authority gives out some a week.
    ordering ??= orderAndKeep().finally(() => {
      ordering = undefined;
    });
    const certificate = await limitTime(ordering);
    await store.removeExpired();
    return { isNew: true, expiresMs: certificate.expiresMs };
  };
}

export function isDue({ issuedMs, expiresMs }: Certificate, nowMs: number): boolean {
  return expiresMs - nowMs < (expiresMs - issuedMs) * leastLeft;
}

async function order(parts: RenewParts): Promise<Certificate> {
  const { names, email, store } = parts;
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
    // Whether the names lead here from where we stand says nothing about how the authority sees it.
    skipChallengeVerification: true,
    challengeCreateFn: async (_, { type, token }, answer) => {
      if (type !== "http-01") throw new Error(`the authority offers ${type} and no http-01`);
      await store.addChallenge(token, answer);
    },
    challengeRemoveFn: (_, { token }) => store.removeChallenge(token),
  });
  return toCertificate(chain, privateKey.toString(), names);
}

async function connect({ directoryUrl, store, askEveryMs = 2_000 }: RenewParts) {
  acme.axios.defaults.timeout = requestTimeoutMs;
  // The timed job tries again by itself.
  Object.assign(acme.axios.defaults, {
    acmeSettings: { retryMaxAttempts: 1, retryDefaultDelay: 1 },
  });
  let accountKey = await store.readAccount(directoryUrl);
  if (accountKey === undefined) {
    accountKey = (await acme.crypto.createPrivateEcdsaKey()).toString();
    await store.writeAccount(directoryUrl, accountKey);
  }
  return new acme.Client({
    directoryUrl,
    accountKey,
    backoffAttempts: askAtMost,
    backoffMin: askEveryMs,
    backoffMax: 5 * askEveryMs,
  });
}

function tooLong(): ProblemError {
  return new ProblemError({ status: 502, code: "not_renewed", detail: "the order took too long" });
}

/** What the authority refuses is a `ProblemError`; all else may go better in a moment. */
function toFailure(error: Error & { code?: string }, directoryUrl: string): Error {
  // The client trips over no answer and over a bare error (acme-client 5.4, axios.js, util.js).
  if (error instanceof TypeError) {
    return new Error(`no answer that tells anything from ${directoryUrl}`, { cause: error });
  }
  // Of Postgres, or a connection.
  if (error.code !== undefined) return error;
  const detail = error.message;
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
