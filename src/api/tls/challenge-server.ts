/** Answers the HTTP-01 challenges of an ACME authority (RFC 8555, section 8.3), and nothing else. */
import { type FastifyInstance, type FastifyReply, fastify } from "fastify";
import pLimit from "p-limit";
import type { Log } from "#kernel/log.ts";
import { limitPipelines } from "#kernel/server.ts";
import type { CertificateStore } from "./certificate-store.ts";

type ChallengeParts = { store: Pick<CertificateStore, "readChallenge">; log: Log };

/** Base64url, as authorities create them; nothing else is looked up. */
const tokenPattern = /^[\w-]{1,256}$/;

/** Each request is a query on the shared pool: so many run, so many wait. An authority may take a refusal for a failure. */
const lane = { width: 2, length: 2_000 };

/** Creates a server of plain HTTP without authentication; the caller calls `listen` and `close`. */
export function createChallengeServer({ store, log }: ChallengeParts): FastifyInstance {
  const app = fastify({
    bodyLimit: 1_024,
    routerOptions: { maxParamLength: 512 },
    requestTimeout: 10_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 500 },
    forceCloseConnections: true,
    frameworkErrors: (_error, _request, reply) => answer(reply as FastifyReply, 400),
  });
  limitPipelines(app);
  const inTurn = pLimit(lane.width);
  app.get<{ Params: { token: string } }>(
    "/.well-known/acme-challenge/:token",
    async ({ params: { token } }, reply) => {
      if (!tokenPattern.test(token)) return answer(reply, 404);
      if (inTurn.pendingCount >= lane.length) return answer(reply, 503);
      const proof = await inTurn(() => store.readChallenge(token));
      if (proof === undefined) return answer(reply, 404);
      return reply.type("application/octet-stream").send(proof);
    },
  );
  app.setNotFoundHandler((_request, reply) => answer(reply, 404));
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 503;
    if (status >= 500) log.warn({ err: error }, "challenge not answered");
    return answer(reply, status);
  });
  return app;
}

const texts: Record<number, string> = {
  400: "400 bad request",
  404: "404 page not found",
  503: "503 not available now",
};

/** The body names the status only, not the cause. */
function answer(reply: FastifyReply, status: number): FastifyReply {
  return reply
    .code(status)
    .type("text/plain")
    .send(`${texts[status] ?? status}\n`);
}
