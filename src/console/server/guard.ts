/** Checks requests to the console: sessions, writes from our own page only, bodies, the fleet; has the headers of pages. */
import type { FastifyRequest } from "fastify";
import type { ConsoleAccess } from "#console/contract.ts";
import { defaultFleet } from "#fleet/contract.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type Caller, isAllowed } from "#kernel/roles.ts";
import { isSameSecret } from "#kernel/same-secret.ts";
import { noSuch } from "#kernel/text.ts";
import { csrfOf, readCookie, type SignedSession, unseal } from "./session.ts";
import type { Logouts } from "./stored.ts";

/** No content from other hosts, no inline content, no frames. */
export const pageHeaders = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

export type Guard = ReturnType<typeof createGuard>;

/** A session, and what its operator may do now. */
export type SignedIn = Omit<SignedSession, "roles"> & Caller;

export function createGuard(access: ConsoleAccess, parts: { logouts: Logouts; publicUrl: string }) {
  const { sessionKey, callers } = access;

  /** The session of a request. Throws 401 when there is none, or it has ended. */
  const requireSession = async (request: FastifyRequest): Promise<SignedIn> => {
    const session = unseal(readCookie(request.headers.cookie), sessionKey, Date.now());
    if (session === undefined) throw signedOut();
    const caller = await findCaller(session);
    if (caller === undefined || !isAllowed(caller, "read")) throw signedOut();
    if (await parts.logouts.has(session)) throw signedOut();
    return { ...session, ...caller };
  };

  /** undefined: the token was replaced, or the settings of the identity provider or the account's name have changed. */
  const findCaller = async ({ roles, ...session }: SignedSession): Promise<Caller | undefined> => {
    if (roles !== undefined) return access.provider?.find({ ...session, roles });
    const { actor, mark } = session;
    const caller = callers.get(actor);
    if (caller?.mark !== mark) return undefined;
    const { mark: _, ...held } = caller;
    return (await access.provider?.link?.(held)) ?? held;
  };

  /** Throws 403 for a write that did not come from our own page. */
  const requireOwnPage = (request: FastifyRequest): void => {
    const { origin, host } = request.headers;
    const site = request.headers["sec-fetch-site"];
    if (site !== undefined && site !== "same-origin") throw foreignPage();
    if (origin !== undefined && !isOwnOrigin(origin, host, parts.publicUrl)) throw foreignPage();
  };

  return {
    requireSession,
    requireOwnPage,
    csrfOf: (session: Pick<SignedSession, "id">) => csrfOf(session, sessionKey),
    /** The session of a write, which also must carry the session's CSRF token. */
    requireWriter: async (request: FastifyRequest): Promise<SignedIn> => {
      requireOwnPage(request);
      const session = await requireSession(request);
      const given = request.headers["x-csrf-token"];
      if (!isSameSecret(String(given ?? ""), csrfOf(session, sessionKey))) throw foreignPage();
      return session;
    },
  };
}

/** Behind a proxy the page's origin is the public one; otherwise its host is that of the request. */
function isOwnOrigin(origin: string, host: string | undefined, publicUrl: string): boolean {
  if (publicUrl !== "" && origin === new URL(publicUrl).origin) return true;
  // An origin without a host ("null") is never ours, even when the request has no host either.
  return host !== undefined && URL.parse(origin)?.host === host;
}

function signedOut(): ProblemError {
  return new ProblemError({ status: 401, code: "signed_out", detail: "sign in first" });
}

function foreignPage(): ProblemError {
  const detail =
    "this request did not come from the console's own page; reload the page and try again";
  return new ProblemError({ status: 403, code: "foreign_page", detail });
}

/** The fleet that a page shows, by default the default one. Throws 404 for one that the settings do not have. */
export function chosenFleet(request: FastifyRequest, fleets: readonly string[]): string {
  const { fleet = defaultFleet } = request.query as { fleet?: unknown };
  const found = fleets.find((name) => name === fleet);
  if (found !== undefined) return found;
  throw missing(noSuch("fleet", String(fleet), fleets));
}

/** The 404 of a thing that is not there. */
export function missing(detail: string): ProblemError {
  return new ProblemError({ status: 404, code: "not_found", detail });
}
