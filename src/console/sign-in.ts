/** Signing in, signing out, and reading the session. */
import type { FastifyInstance } from "fastify";
import type { FleetOperators } from "#fleet/contract.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, isAllowed } from "#kernel/roles.ts";
import { createAttempts } from "./attempts.ts";
import { type ConsoleAccess, SignIn } from "./contract.ts";
import { writeCookie } from "./cookie.ts";
import type { Guard } from "./guard.ts";
import type { Logouts } from "./logouts.ts";
import { createOpenSession, describeSession } from "./open-session.ts";
import { parseBody } from "./parse.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  logouts: Logouts;
  log: Log;
  isSecure: boolean;
  fleets: readonly FleetOperators[];
};

export function serveSignIn(app: FastifyInstance, parts: Parts): void {
  const { access, guard, logouts, log, isSecure, fleets } = parts;
  const attempts = createAttempts();
  const openSession = createOpenSession(parts);

  app.post("/api/session", async (request, reply) => {
    guard.requireOwnPage(request);
    const { token } = parseBody(SignIn, request.body);
    const caller = access.identify(token);
    if (caller === undefined) {
      if (attempts.fail(request.ip, token, Date.now())) throw tooMany();
      log.warn({ remote: request.ip }, "sign-in refused");
      throw wrongToken();
    }
    if (!isAllowed(caller, "read")) throw notForPeople(caller);
    return openSession(caller, "token", { request, reply });
  });

  app.get("/api/session", async (request) => {
    const session = await guard.requireSession(request);
    return describeSession(session, { caller: session, guard, fleets });
  });

  app.delete("/api/session", async (request, reply) => {
    const session = await guard.requireWriter(request);
    await logouts.add(session);
    log.info({ actor: session.actor }, "signed out");
    reply.header("set-cookie", writeCookie("", { isSecure }));
    return reply.code(204).send();
  });
}

export function wrongToken(): ProblemError {
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
