/** Signing in by token or link, signing out, reading the session. A link's ticket is behind `#`: previews do not use it up. */
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import {
  type ConsoleAccess,
  type ConsoleLink,
  type Session,
  SignIn,
  TicketSignIn,
  ticketMinutes,
} from "#console/contract.ts";
import { type FleetOperators, isOperatorOf } from "#fleet/contract.ts";
import { sharedActor } from "#kernel/actor.ts";
import type { RecordAccess } from "#kernel/audit.ts";
import { parseBody } from "#kernel/faults.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, isAllowed } from "#kernel/roles.ts";
import type { Guard } from "./guard.ts";
import { createSession, type SignedSession, seal, writeCookie } from "./session.ts";
import type { Logouts, Tickets } from "./stored.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  log: Log;
  /** Absent: nothing is recorded. */
  record?: RecordAccess | undefined;
  isSecure: boolean;
  fleets: readonly FleetOperators[];
};

export function serveSignIn(app: FastifyInstance, parts: Parts & { logouts: Logouts }): void {
  const { access, guard, logouts, log, isSecure } = parts;
  const attempts = createAttempts();

  app.post("/api/session", async (request, reply) => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const caller = access.identify(token);
    if (caller === undefined) {
      if (attempts.fail(request.ip, token, Date.now())) throw tooMany("tokens");
      await recordRefusal(parts, request, "token");
      throw wrongToken();
    }
    if (!isAllowed(caller, "read")) throw notForPeople(caller);
    return openSession(parts, caller, { how: "token", request, reply });
  });

  app.get("/api/session", async (request) => {
    const session = await guard.requireSession(request);
    return describeSession(session, { ...parts, caller: session });
  });

  app.delete("/api/session", async (request, reply) => {
    const session = await guard.requireWriter(request);
    await logouts.add(session);
    const { actor } = session;
    log.info({ actor }, "signed out");
    await parts.record?.({ event: "session.end", actor, remote: request.ip, what: "console" });
    reply.header("set-cookie", writeCookie("", { isSecure }));
    return reply.code(204).send();
  });
}

type TicketParts = Parts & { tickets: Tickets; publicUrl: string };

/** The session is that of the ingress token's holder: who can read the terminal could read the token's file. */
export function serveTicketSignIn(app: FastifyInstance, parts: TicketParts): void {
  const { access, guard, tickets, log } = parts;
  const attempts = createAttempts();

  app.post("/api/session/ticket", async (request, reply) => {
    guard.requireOwnPage(request);
    const { ticket } = parseBody(TicketSignIn, request.body);
    if (access.provider !== undefined) throw onlyAtProvider(access.provider.host);
    const isValid = await tickets.redeem(ticket);
    if (isValid === "unknown") throw unanswered();
    const caller = access.callers.get(sharedActor);
    if (!isValid || caller === undefined) {
      if (attempts.fail(request.ip, ticket, Date.now())) throw tooMany("attempts");
      await recordRefusal(parts, request, "ticket");
      throw wrongTicket();
    }
    return openSession(parts, caller, { how: "ticket", request, reply });
  });

  app.post("/api/session/link", async (request): Promise<ConsoleLink> => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const plain = { public_url: parts.publicUrl, ticket: null };
    if (access.provider !== undefined) return { ...plain, provider: access.provider.host };
    const caller = access.identify(token);
    if (caller === undefined) {
      if (attempts.fail(request.ip, token, Date.now())) throw tooMany("attempts");
      await recordRefusal(parts, request, "link");
      throw wrongToken();
    }
    // The link signs in with every role, which an operator's own token may lack.
    if (caller.actor !== sharedActor) return { ...plain, provider: null };
    const ticket = await tickets.issue();
    if (ticket === undefined) throw unanswered();
    const { actor } = caller;
    log.info({ actor, remote: request.ip }, "console link issued");
    await parts.record?.({ event: "call", actor, remote: request.ip, what: "console link" });
    return { ...plain, ticket, provider: null };
  });
}

async function recordRefusal({ log, record }: Parts, { ip: remote }: FastifyRequest, how: string) {
  log.warn({ remote, how }, "sign-in refused");
  await record?.({ event: "session.refused", remote, what: how });
}

type Exchange = { how: "token" | "ticket"; request: FastifyRequest; reply: FastifyReply };

/** Sets the cookie, and logs who has signed in, and how. */
async function openSession(
  parts: Parts,
  caller: Caller,
  { how, request, reply }: Exchange,
): Promise<Session> {
  const { access, log, isSecure } = parts;
  const { actor } = caller;
  const mark = access.callers.get(actor)?.mark ?? "";
  const session = createSession(actor, { mark, nowMs: Date.now() });
  log.info({ actor, remote: request.ip, how }, "signed in");
  await parts.record?.({ event: "session.start", actor, remote: request.ip, what: how });
  const { endsAtMs } = session;
  const cookie = writeCookie(seal(session, access.sessionKey), { isSecure, endsAtMs });
  reply.header("set-cookie", cookie);
  return describeSession(session, { ...parts, caller });
}

export function describeSession(
  { id, actor, endsAtMs }: Pick<SignedSession, "id" | "actor" | "endsAtMs">,
  { caller, guard, fleets }: Pick<Parts, "guard" | "fleets"> & { caller: Pick<Caller, "roles"> },
): Session {
  return {
    actor,
    roles: [...caller.roles],
    fleets: fleets.map(({ name }) => name),
    foreign_fleets: fleets.filter((fleet) => !isOperatorOf(fleet, actor)).map(({ name }) => name),
    csrf: guard.csrfOf({ id }),
    ends_at: new Date(endsAtMs).toISOString(),
  };
}

function wrongToken(): ProblemError {
  const detail = "This token is unknown. Use the ingress token, or your own operator token.";
  return new ProblemError({ status: 401, code: "wrong_token", detail });
}

function notForPeople({ roles }: Caller): ProblemError {
  const detail = `This token may only ${roles.join(", ")}. The console takes one that may read.`;
  return new ProblemError({ status: 403, code: "forbidden", detail });
}

function wrongTicket(): ProblemError {
  const detail = `This link has been used, or its ${ticketMinutes} minutes are over. Get a new one by \`npx vedette console\`.`;
  return new ProblemError({ status: 401, code: "wrong_ticket", detail });
}

/** People have names there, which history then has. */
function onlyAtProvider(host: string): ProblemError {
  const detail = `Links sign nobody in here: sign in at ${host}, or with a token.`;
  return new ProblemError({ status: 403, code: "forbidden", detail });
}

function unanswered(): ProblemError {
  const detail =
    "The database, which knows the links, does not answer. Sign in with the ingress token.";
  return new ProblemError({ status: 503, code: "unavailable", detail });
}

function tooMany(what: "tokens" | "attempts"): ProblemError {
  const detail = `Too many wrong ${what} from your address. Wait a minute.`;
  return new ProblemError({ status: 429, code: "too_many_attempts", detail });
}

/** Rate limit of wrong tokens per address. Tokens cannot be guessed: this keeps the log short. */
const limit = { failures: 10, windowMs: 60_000 };

/** Further tokens are not distinguished: an address with so many is far over the limit. */
const rememberedTokens = 100;

type Count = { tokens: Set<string>; sinceMs: number };

/** Counts an address's different wrong tokens. The right one is never refused: many people may share an address. */
function createAttempts() {
  const counts = new LRUCache<string, Count>({ max: 10_000, ttl: limit.windowMs });
  return {
    /** Records a wrong token. Returns whether the address is over the limit. */
    fail(address: string, token: string, nowMs: number): boolean {
      const known = counts.get(address);
      const isFresh = known === undefined || nowMs - known.sinceMs > limit.windowMs;
      const count = isFresh ? { tokens: new Set<string>(), sinceMs: nowMs } : known;
      if (count.tokens.size < rememberedTokens) count.tokens.add(markOf(token));
      if (isFresh) counts.set(address, count);
      return count.tokens.size > limit.failures;
    },
  };
}

/** Long enough to distinguish tokens, too short to recover one. */
function markOf(token: string): string {
  return createHash("sha256").update(token).digest("hex").slice(0, 16);
}
