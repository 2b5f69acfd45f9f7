/** Begins a session for a caller who has shown a token, or a ticket in its place. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { type FleetOperators, isOperatorOf } from "#fleet/contract.ts";
import type { Log } from "#kernel/log.ts";
import type { Caller } from "#kernel/roles.ts";
import type { ConsoleAccess, Session } from "./contract.ts";
import { writeCookie } from "./cookie.ts";
import type { Guard } from "./guard.ts";
import { createSession, type SignedSession, seal } from "./session.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  log: Log;
  isSecure: boolean;
  fleets: readonly FleetOperators[];
};

type Exchange = { request: FastifyRequest; reply: FastifyReply };

type OpenSession = (caller: Caller, how: "token" | "ticket", exchange: Exchange) => Session;

/** Sets the cookie, and logs who has signed in, and how. */
export function createOpenSession({ access, guard, log, isSecure, fleets }: Parts): OpenSession {
  return (caller, how, { request, reply }) => {
    const { actor } = caller;
    const mark = access.callers.get(actor)?.mark ?? "";
    const session = createSession(actor, { mark, nowMs: Date.now() });
    log.info({ actor, remote: request.ip, how }, "signed in");
    const { endsAtMs } = session;
    reply.header(
      "set-cookie",
      writeCookie(seal(session, access.sessionKey), { isSecure, endsAtMs }),
    );
    return describeSession(session, { caller, guard, fleets });
  };
}

/** What the page is told of a session. */
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
