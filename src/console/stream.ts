/** The stream of server-sent events: browsers reconnect by themselves and send the id of their last event. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ProblemError } from "#kernel/problem.ts";
import { chosenFleet } from "./chosen-fleet.ts";
import { livePath } from "./contract.ts";
import type { LiveEvent } from "./events.ts";
import type { Guard } from "./guard.ts";
import type { Live } from "./live.ts";

/** How soon a browser reconnects after a lost connection. */
const retryMs = 1_000;
/** A client with so much unread data is disconnected; it reconnects and gets the newest state. */
const behindLimitBytes = 8 * 1024 * 1024;
/** Limit of streams per session: far more than the tabs that a person uses. Each stream is sent all events. */
const mostStreams = 16;
/** How often the session is checked again. */
const recheckEveryMs = 5_000;

type Parts = {
  guard: Guard;
  /** By fleet. */
  lives: ReadonlyMap<string, Live>;
  /** Absent: the default. */
  recheckMs?: number;
};

export function serveStream(app: FastifyInstance, parts: Parts): void {
  const openStreams = new Map<string, number>();
  app.get(livePath, async (request, reply) => {
    const { id } = await parts.guard.requireSession(request);
    const live = parts.lives.get(chosenFleet(request, [...parts.lives.keys()])) as Live;
    const before = openStreams.get(id) ?? 0;
    if (before >= mostStreams) throw tooMany();
    reply.hijack();
    // A client that disconnected during the await emits no more "close": its stream would never be removed.
    if (reply.raw.destroyed) return;
    openStreams.set(id, before + 1);
    reply.raw.once("close", () => {
      const left = (openStreams.get(id) ?? 1) - 1;
      if (left > 0) openStreams.set(id, left);
      else openStreams.delete(id);
    });
    open(request, reply, { ...parts, live });
  });
}

function tooMany(): ProblemError {
  const detail = `this session has ${mostStreams} streams of events open already; close other tabs of the console`;
  return new ProblemError({ status: 429, code: "too_many_streams", detail });
}

function open(
  request: FastifyRequest,
  reply: FastifyReply,
  { guard, live, recheckMs = recheckEveryMs }: Omit<Parts, "lives"> & { live: Live },
): void {
  const { raw } = reply;
  raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    "content-type": "text/event-stream",
    // Proxies that buffer responses would delay the events.
    "x-accel-buffering": "no",
  });
  raw.write(`retry: ${retryMs}\n\n`);
  const send = (event: LiveEvent) => {
    if (raw.writableLength > behindLimitBytes) raw.destroy();
    else raw.write(formatEvent(event));
  };
  const lastId = request.headers["last-event-id"];
  const stopListening = live.listen(send, typeof lastId === "string" ? lastId : undefined);
  // Destroyed, not ended: an end waits until the client has read everything, and events after it are an error.
  const recheck = setInterval(() => {
    guard.requireSession(request).catch(() => raw.destroy());
  }, recheckMs);
  raw.once("close", () => {
    clearInterval(recheck);
    stopListening();
  });
}

function formatEvent({ name, id, data }: LiveEvent): string {
  const head = id === undefined ? "" : `id: ${id}\n`;
  return `${head}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
