/** Signing in at the identity provider: the browser goes there, and comes back with a code. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { isLoopback } from "#kernel/address.ts";
import { cleanText } from "#kernel/clean-text.ts";
import type { Log } from "#kernel/log.ts";
import { ProblemError } from "#kernel/problem.ts";
import { createSealer } from "#kernel/seal.ts";
import {
  type ConsoleAccess,
  consolePath,
  type ProviderAccess,
  ProviderSignIn,
  type SignInChoice,
} from "./contract.ts";
import { readSignInCookie, signInCookiePath, writeCookie, writeSignInCookie } from "./cookie.ts";
import type { Guard } from "./guard.ts";
import { parseBody } from "./parse.ts";
import { localPath } from "./return-path.ts";
import { seal } from "./session.ts";

type Parts = {
  access: ConsoleAccess;
  guard: Guard;
  log: Log;
  isSecure: boolean;
  /** The address that browsers use; empty: the one in their request. */
  publicUrl: string;
};

/** Below it the provider sends the browser back. */
const callbackPath = `${signInCookiePath}/callback`;

/** How long the page may take to read why a sign-in failed. */
const noteMs = 600_000;
const longestNote = 500;

export function serveProviderSignIn(app: FastifyInstance, parts: Parts): void {
  const { access, guard, isSecure, publicUrl } = parts;
  const { provider } = access;
  const notes = createSealer(z.string(), { secret: access.sessionKey, purpose: "sign-in note" });
  const keep = (reply: FastifyReply, value: string) =>
    reply.header("set-cookie", writeSignInCookie(value, { isSecure }));

  app.get("/api/sign-in", async (request, reply): Promise<SignInChoice> => {
    const note = notes.open(readSignInCookie(request.headers.cookie), Date.now());
    if (note !== undefined) keep(reply, "");
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
    keep(reply, flow);
    return { url };
  });

  // A link on another site leads here without the flow that belongs to its code, and signs nobody in.
  app.get("/api/sign-in/callback", async (request, reply) => {
    const flow = readSignInCookie(request.headers.cookie);
    try {
      const cookies = await finish(request, { ...parts, provider, flow });
      return reply.header("set-cookie", cookies).redirect(provider.returnOf(flow), 303);
    } catch (error) {
      const words = cleanText(wordsFor(error, parts, request), longestNote);
      keep(reply, notes.seal(words, Date.now() + noteMs));
      return reply.redirect(returnOf(provider, flow), 303);
    }
  });
}

type Finish = Parts & { provider: ProviderAccess; flow: string };

/** The cookies of the new session. */
async function finish(request: FastifyRequest, parts: Finish): Promise<string[]> {
  const { access, provider, flow, isSecure } = parts;
  const { search: query } = new URL(request.url, "http://console");
  const session = await provider.finish({ flow, query, remote: request.ip });
  const { endsAtMs } = session;
  const cookie = writeCookie(seal(session, access.sessionKey), { isSecure, endsAtMs });
  return [cookie, writeSignInCookie("", { isSecure })];
}

/** The page that the person came from; the first one when the flow is not to be read. */
function returnOf(provider: ProviderAccess, flow: string): string {
  try {
    return provider.returnOf(flow);
  } catch {
    return consolePath;
  }
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
