/** Signing in at the identity provider: the browser goes there, and comes back with a code. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import {
  type ConsoleAccess,
  consolePath,
  ProviderSignIn,
  type SignInChoice,
} from "#console/contract.ts";
import { isLoopback } from "#kernel/address.ts";
import { createSealer } from "#kernel/crypto.ts";
import { parseBody } from "#kernel/faults.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { cleanText, isClean } from "#kernel/text.ts";
import type { Guard } from "./guard.ts";
import {
  noteSeconds,
  readNoteCookie,
  readSignInCookie,
  type SignedSession,
  seal,
  signInCookiePath,
  writeCookie,
  writeNoteCookie,
  writeSignInCookie,
} from "./session.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  log: Log;
  isSecure: boolean;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
};

/** The path to which the provider sends the browser back, below the public address. */
const callbackPath = `${signInCookiePath}/callback`;

const longestNote = 500;

export function serveProviderSignIn(app: FastifyInstance, parts: Parts): void {
  const { access, guard, isSecure, publicUrl } = parts;
  const { provider } = access;
  const notes = createSealer(z.string(), { secret: access.sessionKey, purpose: "sign-in note" });

  app.get("/api/sign-in", async (request, reply): Promise<SignInChoice> => {
    const note = notes.open(readNoteCookie(request.headers.cookie), Date.now());
    if (note !== undefined) reply.header("set-cookie", writeNoteCookie("", { isSecure }));
    return { provider: provider?.host ?? null, trouble: note ?? null };
  });
  if (provider === undefined) return;

  app.post("/api/sign-in", async (request, reply) => {
    guard.requireOwnPage(request);
    const { return_to } = parseBody(ProviderSignIn, request.body);
    const { url, flow } = await provider.begin({
      redirectUri: `${requireBase(request, publicUrl)}${callbackPath}`,
      returnTo: localPath(return_to),
      remote: request.ip,
    });
    reply.header("set-cookie", writeSignInCookie(flow, { isSecure }));
    return { url };
  });

  // A link on another site leads here without the flow that belongs to its code: it signs nobody in, shows no
  // words, and ends no sign-in that has begun in another tab.
  app.get("/api/sign-in/callback", async (request, reply) => {
    const flow = readSignInCookie(request.headers.cookie);
    const known = provider.read(flow);
    if (known === undefined) return reply.redirect(consolePath, 303);
    const { search: query } = new URL(request.url, "http://console");
    const isOfFlow = new URLSearchParams(query).get("state") === known.state;
    const over = isOfFlow ? [writeSignInCookie("", { isSecure })] : [];
    try {
      const session = await provider.finish({ flow, query, remote: request.ip });
      reply.header("set-cookie", [sessionCookie(session, parts), ...over]);
    } catch (error) {
      const words = cleanText(wordsFor(error, parts, request), longestNote);
      const note = notes.seal(words, Date.now() + noteSeconds * 1_000);
      reply.header("set-cookie", [writeNoteCookie(note, { isSecure }), ...over]);
    }
    return reply.redirect(known.returnTo, 303);
  });
}

function sessionCookie(session: SignedSession, { access, isSecure }: Parts): string {
  const { endsAtMs } = session;
  return writeCookie(seal(session, access.sessionKey), { isSecure, endsAtMs });
}

function wordsFor(error: unknown, { log }: Parts, request: FastifyRequest): string {
  if (error instanceof ProblemError) return error.message;
  log.error({ err: error, requestId: request.id }, "sign-in failed");
  return `Something went wrong here; the log of request ${request.id} has the cause.`;
}

/** The address of `control` for the browser. Throws 409 when it is not known for sure. */
function requireBase({ headers }: FastifyRequest, publicUrl: string): string {
  const { host = "", origin } = headers;
  if (publicUrl !== "") {
    // The browser would come back there, without the cookie that it gets here.
    const isThere = origin === undefined || origin === new URL(publicUrl).origin;
    if (isThere) return withoutPath(publicUrl);
    throw elsewhere(`To sign in at an identity provider, open this page at ${publicUrl}.`);
  }
  const own = URL.parse(`http://${host}`);
  // The provider would refuse another address, and a caller could name any.
  if (own !== null && own.host === host && isLoopback(own.hostname)) return own.origin;
  throw elsewhere(
    "To sign in at an identity provider, control.public_url has to be set: the address at which browsers open this page.",
  );
}

/** The setting may have the console's own address, or that of `control`. */
function withoutPath(publicUrl: string): string {
  return publicUrl.endsWith(consolePath) ? publicUrl.slice(0, -consolePath.length) : publicUrl;
}

function elsewhere(detail: string): ProblemError {
  return new ProblemError({ status: 409, code: "no_public_url", detail });
}

/** This address only serves to resolve paths. */
const base = "http://console.invalid";

const longest = 500;

/** The path of the console that a page has asked to return to; the first page's for anything else. */
export function localPath(wanted: string): string {
  if (!isClean(wanted, longest) || !wanted.startsWith("/")) return consolePath;
  const url = URL.parse(wanted, base);
  if (url === null || url.origin !== base) return consolePath;
  const { pathname, search } = url;
  const isOwn = pathname === consolePath || pathname.startsWith(`${consolePath}/`);
  // A path that begins with two slashes, also behind dots that were resolved, would be another host.
  const isPage = isOwn && !pathname.startsWith(`${consolePath}/api/`);
  return isPage ? `${pathname}${search}` : consolePath;
}
