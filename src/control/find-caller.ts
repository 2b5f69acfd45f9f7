/** Whose call it is: by a token, or by the session of somebody who has signed in. */
import type { FastifyRequest } from "fastify";
import type { Caller } from "#kernel/roles.ts";
import { bearerOf, type Identify } from "./token.ts";

/** undefined: it is neither a known token nor a session that lasts. */
export type FindCaller = (bearer: string) => Promise<Caller | undefined>;

type FindSession = (bearer: string) => Promise<{ caller: Caller } | undefined>;

/** `findSession` undefined: nobody signs in, there are tokens only. `link` adds the accounts of a token's owner. */
export function createFindCaller(
  identify: Identify,
  findSession?: FindSession,
  link: (caller: Caller) => Promise<Caller> = async (caller) => caller,
): FindCaller {
  return async (bearer) => {
    const caller = identify(bearer);
    return caller === undefined ? (await findSession?.(bearer))?.caller : link(caller);
  };
}

export type RequestCallers = {
  /** Finds the caller of a request, and notes it. */
  find: (request: FastifyRequest) => Promise<Caller | undefined>;
  /** The caller that was noted; undefined when there was none, or a door has admitted the request. */
  of: (request: FastifyRequest) => Caller | undefined;
};

export function createRequestCallers(findCaller: FindCaller): RequestCallers {
  const known = new WeakMap<FastifyRequest, Caller>();
  return {
    find: async (request) => {
      const caller = await findCaller(bearerOf(request.headers.authorization));
      if (caller !== undefined) known.set(request, caller);
      return caller;
    },
    of: (request) => known.get(request),
  };
}
