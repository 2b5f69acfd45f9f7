/** Odd requests to two servers, of which one has the lane: both answer the same, byte by byte. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import type { FastifyInstance } from "fastify";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import type { ServerParts } from "#api/http/server.ts";
import { procedure } from "#api/procedure.ts";
import { testServer } from "../../support/api/api-server.ts";
import { type OddConnection, oddConnections } from "../../support/api/odd-requests.ts";

const count = Number(process.env["LANE_CONNECTIONS"] ?? 4_000);
const parallel = 16;

/** Answers what it has received. */
const echo = (isUsual: boolean) =>
  procedure({
    summary: "Answers what it has received.",
    input: z.strictObject({ say: z.string() }),
    ...(isUsual && { readUsual: () => undefined }),
    output: z.object({ said: z.string(), ip: z.string(), headers: z.record(z.string(), z.any()) }),
    example: { body: { say: "a" }, data: { said: "a", ip: "", headers: {} } },
    handle: async ({ say }, { headers, remoteIp }) => {
      if (say === "fail") throw new Error("failed");
      if (say === "refuse") throw new ApiError("unkey/data/key_not_found", "refused");
      if (say === "later") await delay(1);
      return { data: { said: say, ip: remoteIp, headers } };
    },
  });

/** The keys of the requests whose body was valid, by the connection's ports. */
const received = new Map<string, (string | undefined)[]>();

const parts: Partial<ServerParts> = {
  authenticate: (header, _nowMs, _address, connection) => {
    const { localPort, remotePort } = connection as Socket;
    const ports = `${localPort} ${remotePort}`;
    received.set(ports, [...(received.get(ports) ?? []), header]);
    if (header === undefined) throw new ApiError("unkey/authentication/malformed", "no key");
    return {
      ...{ keyId: "key_test", name: undefined, workspaceId: "ws_test" },
      grants: { allow: () => true, names: () => [] } as never,
      limitPerMinute: undefined,
    };
  },
  admit: () => ({ "RateLimit-Limit": "5" }),
};

const apps: FastifyInstance[] = [];

type Started = { port: number; requests: () => number };

/** `requests`: how many Node's HTTP server has read. */
async function start(given: Partial<ServerParts>): Promise<Started> {
  const procedures = { echo: echo(true), other: echo(false) };
  const app = testServer({ test: procedures }, { ...parts, ...given, registry: new Registry() });
  apps.push(app);
  let requests = 0;
  app.server.on("request", () => requests++);
  const { port } = new URL(await app.listen({ host: "127.0.0.1", port: 0 }));
  return { port: Number(port), requests: () => requests };
}

afterAll(async () => {
  for (const app of apps) {
    app.server.closeAllConnections();
    await app.close();
  }
});

/** Whether it has ended by then. */
async function within(work: Promise<void>, patienceMs: number): Promise<boolean> {
  const timer = new AbortController();
  const late = delay(patienceMs, false, timer);
  const isOver = await Promise.race([work.then(() => true), late]);
  timer.abort();
  await late.catch(() => {});
  return isOver;
}

const last = "GET /v2/liveness HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/** All that comes back. What nobody answers within `patienceMs` is told to be all that comes. */
async function exchange(
  port: number,
  { requests, isAhead }: OddConnection,
  patienceMs: number,
): Promise<Exchange> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let answer = "";
  socket.setEncoding("latin1").on("data", (text: string) => {
    answer += text;
  });
  const end = Promise.withResolvers<void>();
  socket.on("error", () => {}).once("close", () => end.resolve());
  const send = async (pieces: readonly string[]) => {
    const before = answer.length;
    for (const piece of pieces) {
      if (socket.writable) socket.write(piece, "latin1");
      // So that it is received by itself.
      await delay(1);
    }
    for (let waits = 0; !isAhead && answer.length === before && waits < 20; waits += 1)
      if (socket.writable) await delay(patienceMs / 40);
  };
  await once(socket, "connect");
  const ports = `${port} ${socket.localPort}`;
  for (const pieces of requests) await send(pieces);
  if (socket.writable) socket.write(last, "latin1");
  const isOver = await within(end.promise, patienceMs);
  if (!isOver) socket.end();
  const hasEnded = isOver || (await within(end.promise, patienceMs));
  socket.destroy();
  const read = received.get(ports) ?? [];
  received.delete(ports);
  if (!hasEnded) answer += "(it did not end)";
  return toExchange(read, answer);
}

const broken = /The request is not valid HTTP|The headers of the request are too large/;

/**
 * `isCut`: an answer before the last request's says that it is the last one of its connection. What follows it is left out:
 * whether it is still read depends on when it comes, also without the lane.
 */
function toExchange(requests: Exchange["requests"], answer: string): Exchange {
  const text = answer.replaceAll(/req_\w{16}/g, "req_").replaceAll(/Date: [^\r]*/g, "Date:");
  const all = text.split(/(?=HTTP\/1\.1 \d{3} )/);
  const closing = all.findIndex((one) => /\r\nconnection: close\r\n/i.test(one));
  const answers = closing < 0 ? all : all.slice(0, closing + 1);
  return { requests, answers, isCut: !(answers.at(-1) ?? "").includes("cooking") };
}

function areSame({ isAhead }: OddConnection, one: Exchange, other: Exchange): boolean {
  if (!one.isCut && !other.isCut) return isDeepStrictEqual(one, other);
  const isMore = one.requests.length > Math.max(other.requests.length, one.answers.length);
  if (!areAlike(one.requests, other.requests) || (isMore && !isAhead)) return false;
  const [last = "", otherLast = ""] = [one.answers.at(-1), other.answers.at(-1)];
  if (!broken.test(last) && !broken.test(otherLast))
    return isDeepStrictEqual(one.answers, other.answers);
  // What is no HTTP may be refused before all answers are sent to what has come with it.
  const [answers, others] = [one, other].map((all) => all.answers.filter((a) => !broken.test(a)));
  return areAlike(answers, others) && (isAhead || last === otherLast);
}

/** Whether one begins with the other. */
function areAlike(one: readonly unknown[] = [], other: readonly unknown[] = []): boolean {
  const shared = Math.min(one.length, other.length);
  return isDeepStrictEqual(one.slice(0, shared), other.slice(0, shared));
}

type Exchange = { requests: (string | undefined)[]; answers: string[]; isCut: boolean };

describe.each([
  { proxies: "no proxy", trustProxy: false as const },
  { proxies: "a proxy in front", trustProxy: ["127.0.0.1"] },
])("odd requests, with $proxies", ({ trustProxy }) => {
  let withLane: Started;
  let without: Started;

  beforeAll(async () => {
    withLane = await start({ hasFastLane: true, trustProxy });
    without = await start({ hasFastLane: false, trustProxy });
  });

  const exchangeBoth = async (request: OddConnection, patienceMs: number) => {
    const [one, other] = await Promise.all([
      exchange(withLane.port, request, patienceMs),
      exchange(without.port, request, patienceMs),
    ]);
    return { request, withLane: one, without: other, isSame: areSame(request, one, other) };
  };

  it("are answered the same", { retry: 0, timeout: 600_000 }, async () => {
    const connections = fc.sample(oddConnections, { seed: 20_261_127, numRuns: count / 2 });
    const late: OddConnection[] = [];
    let whole = 0;
    const work = async () => {
      for (let one = connections.pop(); one !== undefined; one = connections.pop()) {
        const found = await exchangeBoth(one, 200);
        if (!found.isSame) late.push(one);
        if (!found.withLane.isCut) whole += 1;
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    // A busy machine may have been late: one at a time, with patience.
    const differences = [];
    for (const one of late) {
      const found = [await exchangeBoth(one, 2_000)];
      if (found[0]?.isSame !== true) found.push(await exchangeBoth(one, 5_000));
      if (found.at(-1)?.isSame !== true) differences.push(found.at(-1));
    }

    expect(differences).toEqual([]);
    expect(whole).toBeGreaterThan(count / 6);
    // Those that the lane has taken.
    const taken = without.requests() - withLane.requests();
    expect(taken).toBeGreaterThan(count / 10);
  });
});
