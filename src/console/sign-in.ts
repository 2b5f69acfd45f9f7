/** Signing in, signing out, and reading the session. */
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { createAttempts } from "./attempts.ts";
import { type ConsoleAccess, type Session, SignIn } from "./contract.ts";
import { writeCookie } from "./cookie.ts";
import type { Guard } from "./guard.ts";
import type { Logouts } from "./logouts.ts";
import { parseBody } from "./parse.ts";
import { createTicket, seal, type Ticket } from "./session.ts";

type Parts = { access: ConsoleAccess; guard: Guard; logouts: Logouts; log: Log; isSecure: boolean };

export function serveSignIn(app: FastifyInstance, parts: Parts): void {
  const { access, guard, logouts, log, isSecure } = parts;
  const attempts = createAttempts();
  const answer = (ticket: Ticket): Session => ({
    actor: ticket.actor,
    csrf: guard.csrfOf(ticket),
    ends_at: new Date(ticket.endsAtMs).toISOString(),
  });
  const setCookie = (reply: FastifyReply, value: string) =>
    reply.header("set-cookie", writeCookie(value, { isSecure }));

  app.post("/api/session", async (request, reply) => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const actor = access.identify(token);
    if (actor === undefined) {
      if (attempts.fail(request.ip, token, Date.now())) throw tooMany();
      log.warn({ remote: request.ip }, "sign-in refused");
      throw wrongToken();
    }
    const mark = access.tokenMarks.get(actor) ?? "";
    const ticket = createTicket(actor, { mark, nowMs: Date.now() });
    log.info({ actor, remote: request.ip }, "signed in");
    setCookie(reply, seal(ticket, access.sessionKey));
    return answer(ticket);
  });

  app.get("/api/session", async (request) => answer(await guard.requireSession(request)));

  app.delete("/api/session", async (request, reply) => {
    const ticket = await guard.requireWriter(request);
    await logouts.add(ticket);
    log.info({ actor: ticket.actor }, "signed out");
    setCookie(reply, "");
    return reply.code(204).send();
  });
}

function wrongToken(): ProblemError {
  const detail = "This token is unknown. Use the ingress token, or your own operator token.";
  return new ProblemError({ status: 401, code: "wrong_token", detail });
}

function tooMany(): ProblemError {
  const detail = "Too many wrong tokens from your address. Wait a minute.";
  return new ProblemError({ status: 429, code: "too_many_attempts", detail });
}
