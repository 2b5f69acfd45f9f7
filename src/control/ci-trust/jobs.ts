/** Exchanges the token of a CI job, once, for a session of at most an hour, and finds the caller of such a session. */
import { createHash } from "node:crypto";
import { z } from "zod";
import type { TrustRow } from "#control/ci-trust-config.ts";
import { createLimit, networkOf } from "#control/sign-in/core.ts";
import { ProviderTrouble } from "#control/sign-in/refusals.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { createSealer } from "#kernel/crypto.ts";
import { type Log, secretPrefixes } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, CiRun, type Role } from "#kernel/roles.ts";
import { cleanText } from "#kernel/text.ts";
import { type Issuers, TokenRefusal, type Verified } from "./issuers.ts";
import { findTrusted } from "./match.ts";
import { textOf } from "./presets.ts";
import type { UsedTokens } from "./used-tokens.ts";

type CiSession = { token: string; actor: string; roles: readonly Role[]; endsAtMs: number };

export type CiJobs = {
  /** Throws 401 for a token that proves nothing or was used, 403 for a job that no row trusts. `remote`: its address. */
  exchange: (token: string, remote: string) => Promise<CiSession>;
  /** undefined: it is no session, or its time is over, or its row has changed. */
  find: (bearer: string) => { caller: Caller; endsAtMs: number } | undefined;
};

export type CiParts = {
  rows: readonly TrustRow[];
  publicUrl: string;
  issuers: Issuers;
  used: UsedTokens;
  /** The same in every process; who has it can make sessions. */
  secret: Uint8Array;
  log: Log;
  /** Absent: nothing is recorded. */
  record?: RecordAccess | undefined;
  nowMs?: () => number;
};

const Session = z.object({
  /** The name of the row, and a digest of all that it says. */
  name: z.string(),
  mark: z.string(),
  accounts: z.array(z.string()),
  run: CiRun,
  endsAtMs: z.number(),
});
type Session = z.infer<typeof Session>;

const longestMs = 3_600_000;
/** For each minute and address: behind one may be all runners of a company. */
const mostExchanges = 120;

export function createCiJobs(parts: CiParts): CiJobs {
  const { rows, secret, log, record, nowMs = Date.now } = parts;
  const sealer = createSealer(Session, { secret, purpose: "session of a CI job" });
  const limit = createLimit(mostExchanges);
  const admit = createAdmit(parts);
  const { session: prefix } = secretPrefixes;
  return {
    exchange: async (token, remote) => {
      if (limit(networkOf(remote), nowMs()) !== "within") throw tooMany();
      try {
        const { row, run, accounts, expiresAtMs } = await admit(token);
        const endsAtMs = Math.min(expiresAtMs, nowMs() + longestMs);
        const session = { name: row.name, mark: markOf(row), accounts, run, endsAtMs };
        const { actor, roles } = callerOf(row, session);
        log.info({ actor, ...run, remote }, "ci job admitted");
        await record?.({ event: "session.start", actor, remote, what: "ci", meta: { ...run } });
        return { token: `${prefix}${sealer.seal(session, endsAtMs)}`, actor, roles, endsAtMs };
      } catch (error) {
        const problem = toProblem(error);
        if (problem === undefined) throw error;
        const { code, message: detail } = problem;
        log.warn({ code, detail, remote }, "ci job refused");
        await record?.({ event: "session.refused", remote, what: "ci", meta: { code, detail } });
        throw problem;
      }
    },
    find: (bearer) => {
      if (!bearer.startsWith(prefix)) return undefined;
      const session = sealer.open(bearer.slice(prefix.length), nowMs());
      const row = rows.find(({ name }) => name === session?.name);
      if (session === undefined || row === undefined || session.mark !== markOf(row))
        return undefined;
      return { caller: callerOf(row, session), endsAtMs: session.endsAtMs };
    },
  };
}

type Admitted = { row: TrustRow; run: CiRun; accounts: string[]; expiresAtMs: number };

/** The token is used up last: a job that is refused may be right once the settings are. */
function createAdmit({ rows, publicUrl, issuers, used }: CiParts) {
  return async (token: string): Promise<Admitted> => {
    const issuer = await issuers.issuerOf(token);
    const own = rows.filter((row) => withoutSlash(row.issuer) === withoutSlash(issuer));
    const [first] = own;
    if (first === undefined) {
      const named = cleanText(issuer, 200);
      throw new TokenRefusal("unknown_issuer", `the issuer ${named} is not in control.ci_trust`);
    }
    const audiences = own.map(({ audience = publicUrl }) => audience);
    const verified = await issuers.verify(token, { issuer: first.issuer, audiences });
    const found = findTrusted(verified.claims, own, publicUrl);
    if ("refusal" in found) throw new ProblemError({ status: 403, ...found.refusal });
    if (!(await used.add(idOf(token, verified)))) throw replayed();
    return {
      ...found,
      accounts: accountsOf(found.row, verified),
      expiresAtMs: verified.expiresAtMs,
    };
  };
}

/** Without the id of a repository in the row all jobs of such rows may be of one; the token may say of which. */
function accountsOf({ issuer, repository_id: own }: TrustRow, { claims }: Verified): string[] {
  const named = textOf(claims, "repository_id") ?? textOf(claims, "project_id") ?? "";
  const repositories = own === undefined ? ["", named] : [own];
  return [...new Set(repositories)].map(
    (repository) => `row:ci-${digest([withoutSlash(issuer), repository]).toString("base64url")}`,
  );
}

const withoutSlash = (address: string) => address.replace(/\/+$/, "");

/** Returns a digest of the token's id, or of what is signed: the signature itself may be written in several ways. */
function idOf(token: string, { claims }: Verified): Buffer {
  const signed = token.slice(0, token.lastIndexOf("."));
  return digest([textOf(claims, "iss") ?? "", textOf(claims, "jti") ?? signed]);
}

/** A row that changes ends its sessions. */
function markOf(row: TrustRow): string {
  return digest([JSON.stringify(row)]).toString("base64url");
}

function digest(parts: readonly string[]): Buffer {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}

/** All jobs of a repository are one account: none approves what another one has started. */
function callerOf(row: TrustRow, { accounts, run }: Session): Caller {
  return {
    actor: `ci:${row.name}`,
    roles: row.roles,
    grantedBy: "control.ci_trust",
    accounts,
    ciRun: run,
  };
}

/** undefined: a fault of ours. */
function toProblem(error: unknown): ProblemError | undefined {
  if (error instanceof ProblemError) return error;
  if (error instanceof TokenRefusal) {
    return new ProblemError({ status: 401, code: error.code, detail: error.message });
  }
  if (!(error instanceof ProviderTrouble)) return undefined;
  const detail = `the token's issuer cannot be asked for its keys: ${error.message}; try again in a moment`;
  return new ProblemError({ status: 503, code: "issuer_unavailable", detail }, { cause: error });
}

function replayed(): ProblemError {
  const detail =
    "this token was used before: each is exchanged once, for a session (POST /ci/session)";
  return new ProblemError({ status: 401, code: "token_used", detail });
}

function tooMany(): ProblemError {
  const detail = "too many tokens from your address: wait a minute";
  return new ProblemError({ status: 429, code: "too_many_attempts", detail });
}
