import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { sharedActor } from "#kernel/actor.ts";
import { type Caller, roles } from "#kernel/roles.ts";
import type { Operator } from "./config.ts";

export type Tokens = {
  ingressToken: string;
  /** Named operators: the SHA-256 of each one's token, in hex, and what each may do. */
  operators?: Readonly<Record<string, Operator>>;
};

export type Identify = (token: string) => Caller | undefined;

/** Returns the caller that a token belongs to; an empty one is nobody's. Takes as long for a wrong token as for a right one. */
export function createIdentify(tokens: Tokens): Identify {
  const known = [...knownOf(tokens)];
  return (token) => {
    const given = digest(token);
    let found: Caller | undefined;
    for (const [caller, expected] of known) if (timingSafeEqual(given, expected)) found = caller;
    return token === "" ? undefined : found;
  };
}

/** A caller, with a mark that changes with its token and its roles, and reveals nothing about the token. */
type MarkedCaller = Caller & { mark: string };

/** Returns the callers by name. Sessions that were signed in with another mark are invalid. */
export function markedCallers(tokens: Tokens): Map<string, MarkedCaller> {
  const marked = [...knownOf(tokens)].map(([caller, value]): [string, MarkedCaller] => [
    caller.actor,
    { ...caller, mark: markOf(caller, value) },
  ]);
  return new Map(marked);
}

function markOf({ roles: held }: Caller, value: Buffer): string {
  const hash = createHash("sha256").update("vedette token mark").update(value);
  return hash
    .update([...held].sort().join())
    .digest("base64url")
    .slice(0, 16);
}

export function bearerOf(header: string | undefined): string {
  return /^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "";
}

function* knownOf({ ingressToken, operators = {} }: Tokens): Generator<[Caller, Buffer]> {
  yield [{ actor: sharedActor, roles }, digest(ingressToken)];
  for (const [actor, row] of Object.entries(operators)) {
    if (row.token === undefined) continue;
    yield [{ actor, roles: row.roles, accounts: rowAccounts(row) }, Buffer.from(row.token, "hex")];
  }
}

/** Lists an operator row's other names: those by its token, and of the person that it signs in. */
export function rowAccounts({ token, sign_in }: Partial<Operator>): string[] {
  const known = [token, sign_in?.toLowerCase()].filter((text) => text !== undefined);
  return known.map((text) => `row:${markOf({ actor: "", roles }, Buffer.from(text))}`);
}

/** Digests all have the same length, which a comparison in constant time needs. */
function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

// Whose call it is: by a token, or by the session of somebody who has signed in.

/** undefined: it is neither a known token nor a session that lasts. */
type FindCaller = (bearer: string) => Promise<Caller | undefined>;

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

type RequestCallers = {
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
