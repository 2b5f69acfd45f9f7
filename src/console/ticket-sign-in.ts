/**
 * Signing in by the link that a start, or `vedette console`, prints. Its ticket is behind `#`, which browsers send to no server: the page
 * posts it. So whoever only fetches the address, as a preview of it does, does not use the ticket up.
 */
import type { FastifyInstance } from "fastify";
import type { FleetOperators } from "#fleet/contract.ts";
import { sharedActor } from "#kernel/actor.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { createAttempts } from "./attempts.ts";
import {
  type ConsoleAccess,
  type ConsoleLink,
  SignIn,
  TicketSignIn,
  ticketMinutes,
} from "./contract.ts";
import type { Guard } from "./guard.ts";
import { createOpenSession } from "./open-session.ts";
import { parseBody } from "./parse.ts";
import { wrongToken } from "./sign-in.ts";
import type { Tickets } from "./tickets.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  tickets: Tickets;
  publicUrl: string;
  log: Log;
  isSecure: boolean;
  fleets: readonly FleetOperators[];
};

/** The session is that of the ingress token's holder: who can read the terminal could read the token's file. */
export function serveTicketSignIn(app: FastifyInstance, parts: Parts): void {
  const { access, guard, tickets, log } = parts;
  const attempts = createAttempts();
  const openSession = createOpenSession(parts);

  app.post("/api/session/ticket", async (request, reply) => {
    guard.requireOwnPage(request);
    const { ticket } = parseBody(TicketSignIn, request.body);
    if (access.provider !== undefined) throw onlyAtProvider(access.provider.host);
    const isValid = await tickets.redeem(ticket);
    if (isValid === "unknown") throw unanswered();
    const caller = access.callers.get(sharedActor);
    if (!isValid || caller === undefined) {
      if (attempts.fail(request.ip, ticket, Date.now())) throw tooMany();
      log.warn({ remote: request.ip, how: "ticket" }, "sign-in refused");
      throw wrongTicket();
    }
    return openSession(caller, "ticket", { request, reply });
  });

  app.post("/api/session/link", async (request): Promise<ConsoleLink> => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const plain = { public_url: parts.publicUrl, ticket: null };
    if (access.provider !== undefined) return { ...plain, provider: access.provider.host };
    const caller = access.identify(token);
    if (caller === undefined) {
      throw attempts.fail(request.ip, token, Date.now()) ? tooMany() : wrongToken();
    }
    // The link signs in with every role, which an operator's own token may lack.
    if (caller.actor !== sharedActor) return { ...plain, provider: null };
    const ticket = await tickets.issue();
    if (ticket === undefined) throw unanswered();
    log.info({ actor: caller.actor, remote: request.ip }, "console link issued");
    return { ...plain, ticket, provider: null };
  });
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

function tooMany(): ProblemError {
  const detail = "Too many wrong attempts from your address. Wait a minute.";
  return new ProblemError({ status: 429, code: "too_many_attempts", detail });
}
