/** `GET|POST|HEAD /<PING_TOKEN>`, with `/start`, `/fail` or `/<exit code>`: how a job reports a run. */
import { hash } from "node:crypto";
import type { FastifyPluginAsync } from "fastify";
import { LRUCache } from "lru-cache";
import type { Log } from "#kernel/log.ts";
import { patience, sendToRestate } from "#kernel/restate.ts";
import { pathOf } from "#kernel/server.ts";
import type { Ping } from "#monitor/contract.ts";
import type { PingCall } from "#monitor/internal.ts";
import { heartbeatService } from "#monitor/operations/contract.ts";
import type { Inbox } from "./inbox.ts";

/** Returns the answer to a ping, at once null when the path is not that of a ping. Does not reject. */
export type TakePing = (path: string) => Promise<PingAnswer> | null;

type PingAnswer = { status: number; body: string };

/** Calls the heartbeat's object. Throws when Restate does not accept the call within a few seconds. */
export type SendPing = (id: string, ping: PingCall) => Promise<void>;

type Parts = { inbox: Inbox; send: SendPing; log: Log; nowMs: () => number };

/** 32 bytes in base64url. */
const address = /^\/([\w-]{43})(?:\/(start|fail|\d{1,3}))?\/?$/;

/** A token that was cut off or misspelt is answered 404, as any other wrong token is. */
const nearAddress = /^\/[\w-]{20,}(?:\/|$)/;

function isPingPath(path: string): boolean {
  return nearAddress.test(path);
}

/** A job's own pings come seldom. Restate keeps what waits for an object, which takes one call at a time. */
const callsPerSecond = 20;

class TooManyCalls extends Error {}

export function createTakePing({ inbox, log, nowMs, ...parts }: Parts): TakePing {
  const calls = new LRUCache<string, number>({ max: 10_000, ttl: 1_000, noUpdateTTL: true });
  const send: SendPing = async (id, ping) => {
    const count = (calls.get(id) ?? 0) + 1;
    calls.set(id, count);
    if (count > callsPerSecond) throw new TooManyCalls();
    return parts.send(id, ping);
  };
  const take = async (token: string, ping: Ping): Promise<PingAnswer> => {
    try {
      const isKnown =
        ping.kind === "success"
          ? await receive(token, ping, { inbox, send, log })
          : await announce(token, ping, { inbox, send });
      return isKnown ? { status: 200, body: "ok\n" } : { status: 404, body: "not found\n" };
    } catch (error) {
      if (error instanceof TooManyCalls) return { status: 429, body: "too many pings\n" };
      // A success may count all the same: its row is one commit, what is recorded of it another. The job's next try is
      // a later ping, which does no harm.
      log.error({ err: error }, "ping not taken");
      return { status: 503, body: "try again\n" };
    }
  };
  return (path) => {
    const [, token, suffix] = address.exec(path) ?? [];
    if (token === undefined) return null;
    return take(hash("sha256", token), readPing(suffix, nowMs()));
  };
}

function readPing(suffix: string | undefined, atMs: number): Ping {
  if (suffix === "start") return { kind: "start", atMs };
  if (suffix === "fail") return { kind: "fail", atMs, exitCode: null };
  const exitCode = Number(suffix ?? 0);
  return exitCode === 0 ? { kind: "success", atMs } : { kind: "fail", atMs, exitCode };
}

/** Written before it is answered. The object finds it in the inbox if the call to it fails. */
async function receive(
  token: string,
  ping: Ping,
  { inbox, send, log }: Omit<Parts, "nowMs">,
): Promise<boolean> {
  const recipient = await inbox.receive({ token, atMs: ping.atMs });
  if (recipient?.isWatched === true) {
    const { id, atMs } = recipient;
    await send(id, { ...ping, atMs }).catch((error: Error) => {
      if (error instanceof TooManyCalls) return;
      const detail = error.message;
      log.warn({ heartbeat: id, detail }, "ping written, its call to the heartbeat failed");
    });
  }
  return recipient !== null;
}

/** Only the object keeps a start or a failure. It is called with the pings that follow afterwards. */
async function announce(
  token: string,
  ping: Ping,
  { inbox, send }: Pick<Parts, "inbox" | "send">,
): Promise<boolean> {
  const recipient = await inbox.announce({ token, atMs: ping.atMs });
  if (recipient === null) return false;
  const { id, atMs, lastPingAtMs: heardAtMs } = recipient;
  await send(id, { ...ping, atMs, heardAtMs });
  return true;
}

/** Over Restate's own ingress. A call that comes twice changes nothing. */
export function createSendPing(ingressUrl: string): SendPing {
  return (id, ping) =>
    sendToRestate(`${ingressUrl}/${heartbeatService}/${id}/ping`, ping, patience.caller);
}

const pingMethods = ["GET", "HEAD", "POST"];

export function createPingDoor(takePing: TakePing) {
  const plugin: FastifyPluginAsync = async (app) => {
    // Jobs may post their output: it is discarded, whatever its type and length.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => {
      payload.on("end", () => done(null, undefined)).on("error", done);
      payload.resume();
    });
    const token = "/:token(^[\\w-]{43}$)";
    const suffix = "/:suffix(^(?:start|fail|\\d{1,3})$)";
    for (const url of [token, `${token}/`, `${token}${suffix}`, `${token}${suffix}/`]) {
      app.route({
        method: pingMethods,
        url,
        handler: async (request, reply) => {
          const taken = await takePing(pathOf(request));
          const { status, body } = taken ?? { status: 404, body: "not found\n" };
          if (status === 503) reply.header("retry-after", "5");
          return reply
            .code(status)
            .type("text/plain")
            .header("cache-control", "no-store")
            .send(body);
        },
      });
    }
  };
  return {
    isMine: isPingPath,
    plugin,
    /** Other methods are answered as those of any address that there is not. */
    answer: (method: string, path: string) =>
      pingMethods.includes(method) ? takePing(path) : null,
  };
}
