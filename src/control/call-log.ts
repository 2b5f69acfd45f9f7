/** The log lines about calls. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Log } from "#kernel/log.ts";
import { pathOf } from "./refusal.ts";
import { findRoute } from "./routes.ts";

type CallOutcome = { request: FastifyRequest; reply: FastifyReply; actor: string | undefined };

/** Writes and refused callers are logged by default; reads only at level debug. */
export function recordCall(log: Log, { request, reply, actor }: CallOutcome): void {
  // A ping URL contains its token, also when the URL is misspelt.
  const path = pathOf(request)
    .slice(0, 200)
    .replace(/[\w-]{40,}/g, "***");
  const { statusCode: status } = reply;
  const fields = {
    requestId: request.id,
    path,
    status,
    remote: request.ip,
    ...(actor !== undefined && { actor }),
  };
  const durationMs = Math.round(reply.elapsedTime);
  if (status === 401) log.warn(fields, "caller without a valid token");
  else if (status === 403 && actor !== undefined) log.warn(fields, "call not allowed");
  else if (!reply.raw.writableFinished) log.info({ ...fields, durationMs }, "caller went away");
  else if (findRoute(path)?.isWrite === true) log.info({ ...fields, durationMs }, "call answered");
  else log.debug({ ...fields, durationMs }, "call answered");
}
