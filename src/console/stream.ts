/** The stream of events: server-sent, so that a browser comes back by itself and says where it was. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { livePath } from "./contract.ts";
import type { Guard } from "./guard.ts";
import type { Live, LiveEvent } from "./live.ts";

/** How soon a browser comes back after a lost connection. */
const retryMs = 1_000;
/** Who reads this much behind is let go; it comes back and gets the newest. */
const behindLimitBytes = 8 * 1024 * 1024;
/** How often is looked whether the session still holds. */
const recheckEveryMs = 5_000;

type Parts = {
  guard: Guard;
  live: Live;
  /** Absent: the default. */
  recheckMs?: number;
};

export function serveStream(app: FastifyInstance, parts: Parts): void {
  app.get(livePath, async (request, reply) => {
    await parts.guard.requireSession(request);
    open(request, reply, parts);
    return reply;
  });
}

function open(
  request: FastifyRequest,
  reply: FastifyReply,
  { guard, live, recheckMs = recheckEveryMs }: Parts,
): void {
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    // Proxies that gather answers would hold the events back.
    "x-accel-buffering": "no",
  });
  raw.write(`retry: ${retryMs}\n\n`);
  const send = (event: LiveEvent) => {
    if (raw.writableLength > behindLimitBytes) raw.destroy();
    else raw.write(formatEvent(event));
  };
  const lastId = request.headers["last-event-id"];
  const leave = live.listen(send, typeof lastId === "string" ? lastId : undefined);
  // Not ended: what is left would first have to be read, and events after the end are an error.
  const recheck = setInterval(() => {
    guard.requireSession(request).catch(() => raw.destroy());
  }, recheckMs);
  raw.once("close", () => {
    clearInterval(recheck);
    leave();
  });
}

function formatEvent({ name, id, data }: LiveEvent): string {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return `${head}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
