/** `GET|POST|HEAD /<PING_TOKEN>`, with `/start`, `/fail` or `/<exit code>`: how a job reports a run. */
import { hash } from "node:crypto";
import type { FastifyPluginAsync } from "fastify";
import type { Log } from "#kernel/log.ts";
import { pathOf } from "#kernel/server.ts";
import type { Ping } from "#monitor/contract.ts";
import { type Inbox, TooManyPings } from "./inbox.ts";

/** Returns the answer to a ping, at once null when the path is not that of a ping. Does not reject. */
export type TakePing = (path: string) => Promise<PingAnswer> | null;

type PingAnswer = { status: number; body: string };

type Parts = { inbox: Pick<Inbox, "receive">; log: Log; nowMs: () => number };

/** 32 bytes in base64url. */
const address = /^\/([\w-]{43})(?:\/(start|fail|\d{1,3}))?\/?$/;

/** A token that was cut off or misspelt is answered 404, as any other wrong token is. */
const nearAddress = /^\/[\w-]{20,}(?:\/|$)/;

function isPingPath(path: string): boolean {
  return nearAddress.test(path);
}

export function createTakePing({ inbox, log, nowMs }: Parts): TakePing {
  const take = async (token: string, ping: Ping): Promise<PingAnswer> => {
    try {
      const taken = await inbox.receive({ token, ping });
      return taken ? { status: 200, body: "ok\n" } : { status: 404, body: "not found\n" };
    } catch (error) {
      if (error instanceof TooManyPings) return { status: 429, body: "too many pings\n" };
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
