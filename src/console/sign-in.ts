/** Signing in, signing out, and reading the session. */
import type { FastifyInstance } from "fastify";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, isAllowed } from "#kernel/roles.ts";
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
  const answer = (
    { id, actor, endsAtMs }: Pick<Ticket, "id" | "actor" | "endsAtMs">,
    { roles }: Pick<Caller, "roles">,
  ): Session => ({
    actor,
    roles: [...roles],
    csrf: guard.csrfOf({ id }),
    ends_at: new Date(endsAtMs).toISOString(),
  });

  app.post("/api/session", async (request, reply) => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const caller = access.identify(token);
    if (caller === undefined) {
      if (attempts.fail(request.ip, token, Date.now())) throw tooMany();
      log.warn({ remote: request.ip }, "sign-in refused");
      throw wrongToken();
    }
    const { actor } = caller;
    if (!isAllowed(caller, "read")) throw notForPeople(caller);
    const mark = access.callers.get(actor)?.mark ?? "";
    const ticket = createTicket(actor, { mark, nowMs: Date.now() });
    log.info({ actor, remote: request.ip, how: "token" }, "signed in");
    const { endsAtMs } = ticket;
    const cookie = writeCookie(seal(ticket, access.sessionKey), { isSecure, endsAtMs });
    reply.header("set-cookie", cookie);
    return answer(ticket, caller);
  });

  app.get("/api/session", async (request) => {
    const session = await guard.requireSession(request);
    return answer(session, session);
  });

  app.delete("/api/session", async (request, reply) => {
    const ticket = await guard.requireWriter(request);
    await logouts.add(ticket);
    log.info({ actor: ticket.actor }, "signed out");
    reply.header("set-cookie", writeCookie("", { isSecure }));
    return reply.code(204).send();
  });
}

function wrongToken(): ProblemError {
  const detail = "This token is unknown. Use the ingress token, or your own operator token.";
  return new ProblemError({ status: 401, code: "wrong_token", detail });
}

function notForPeople({ roles }: Caller): ProblemError {
  const detail = `This token may only ${roles.join(", ")}. The console takes one that may read.`;
  return new ProblemError({ status: 403, code: "forbidden", detail });
}

function tooMany(): ProblemError {
  const detail = "Too many wrong tokens from your address. Wait a minute.";
  return new ProblemError({ status: 429, code: "too_many_attempts", detail });
}
