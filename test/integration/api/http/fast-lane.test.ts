/** What the fast lane takes, what it gives away, and how its connections end. */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Registry } from "prom-client";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { closeGracefully } from "#api/http/close.ts";
import type { ServerParts } from "#api/http/server.ts";
import { procedure } from "#api/procedure.ts";
import { testServer } from "../../../support/api/api-server.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** More than the buffers between it and its caller hold. */
const largeLength = 30_000_000;

const say = procedure({
  summary: "Answers, or refuses by what it is told.",
  input: z.strictObject({ say: z.string() }),
  readUsual: () => undefined,
  output: z.object({ said: z.string() }),
  example: { body: { say: "a" }, data: { said: "a" } },
  handle: ({ say: said }) => {
    if (said === "fail") throw new Error("failed");
    if (said === "large") return { data: { said: "a".repeat(largeLength) } };
    if (said === "nothing") return { data: {} as never };
    if (said === "gone") throw new ApiError("unkey/data/key_not_found", "There is none.");
    return { data: { said } };
  },
});

const parts: Partial<ServerParts> = {
  authenticate: (header) => {
    if (header === undefined) throw new ApiError("unkey/authentication/key_not_found", "No key.");
    return {
      ...{ keyId: "key_test", name: undefined, workspaceId: "ws_test", limitPerMinute: undefined },
      grants: { allow: () => true, names: () => [] } as never,
    };
  },
};

async function start(given: Partial<ServerParts> = {}) {
  const app = testServer({ test: { say } }, { ...parts, hasFastLane: true, ...given });
  let requests = 0;
  app.server.on("request", () => requests++);
  const sockets: Socket[] = [];
  app.server.on("connection", (socket) => sockets.push(socket));
  /** Resolves once so much of the first connection has been read. */
  const untilRead = (length: number) =>
    waitFor(() => sockets[0]?.bytesRead === length, { withinMs: 5_000, what: `${length} bytes` });
  /** Resolves once an answer waits for a caller that does not read. */
  const untilUnread = () =>
    waitFor(() => sockets.some(({ writableLength }) => writableLength > 0), {
      withinMs: 5_000,
      what: "the answer",
    });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  const port = Number(new URL(url).port);
  return { app, port, requests: () => requests, untilRead, untilUnread };
}

/** A connection, and all that came back on it. */
function open(port: number) {
  const socket: Socket = connect({ port, host: "127.0.0.1", noDelay: true });
  onTestFinished(() => void socket.destroy());
  let text = "";
  let isOver = false;
  socket.on("data", (chunk) => {
    text += chunk;
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    isOver = true;
  });
  const until = (part: string) =>
    waitFor(() => text.includes(part) && text, { withinMs: 20_000, what: part });
  const over = () => waitFor(() => isOver && text, { withinMs: 20_000, what: "the end" });
  return { socket, until, over: async () => (text === "" ? (await over()) || text : over()) };
}

function requestOf(said: string, lines: string[] = ["authorization: Bearer k"]): string {
  const body = JSON.stringify({ say: said });
  return [
    "POST /v2/test.say HTTP/1.1",
    "host: api",
    "content-type: application/json",
    ...lines,
    `content-length: ${Buffer.byteLength(body)}`,
    "",
    body,
  ].join("\r\n");
}

const stable = (text: string) =>
  text.replaceAll(/req_\w{16}/g, "req_1").replaceAll(/Date: [^\r]*/g, "Date: now");

it("takes usual requests, and gives the connection away for ever with the first other one", async () => {
  const { port, requests } = await start();
  const { socket, until } = open(port);

  socket.write(requestOf("one"));
  await until('"one"');
  socket.write(requestOf("two"));
  await until('"two"');
  expect(requests()).toBe(0);

  socket.write("GET /v2/liveness HTTP/1.1\r\nhost: api\r\n\r\n");
  await until("cooking");
  socket.write(requestOf("three"));
  await until('"three"');
  expect(requests()).toBe(2);
});

it("answers requests that were sent ahead in their order", async () => {
  const { port } = await start();
  const { socket, until } = open(port);

  socket.write(requestOf("one") + requestOf("two") + requestOf("three"));

  const text = await until('"three"');
  expect([...text.matchAll(/"said":"(\w+)"/g)].map(([, said]) => said)).toEqual([
    ...["one", "two", "three"],
  ]);
});

it("takes a request whose body comes by itself", async () => {
  const { port, requests } = await start();
  const request = requestOf("late");

  // A process that stands still for a second gives the connection away.
  const isTaken = async () => {
    const { socket, until } = open(port);
    socket.write(request.slice(0, -14));
    await delay(20);
    socket.write(request.slice(-14));
    await until('"late"');
    return requests() === 0;
  };

  expect((await isTaken()) || (await isTaken())).toBe(true);
});

const cut = (request: string, ...at: number[]) =>
  [0, ...at].map((from, index) => request.slice(from, at[index]));

it.each([
  { what: "came in three pieces", pieces: cut(requestOf("one"), -9, -5), pauseMs: 20 },
  { what: "is no JSON", pieces: cut(requestOf("one").replace("}", "]"), -5), pauseMs: 20 },
  { what: "came too late", pieces: cut(requestOf("one"), -9), pauseMs: 1_100 },
])("counts once a request that it gave away because the body $what", async (given) => {
  const registry = new Registry();
  const { port, requests } = await start({ registry });
  const { socket, until } = open(port);

  for (const piece of given.pieces) {
    socket.write(piece);
    await delay(given.pauseMs);
  }
  const text = await until("}}");

  expect(requests()).toBe(1);
  const status = Number(text.slice(9, 12));
  const [counted] = (await registry.getMetricsAsJSON()).filter(
    ({ name }) => name === "vedette_api_requests_total",
  );
  expect(counted?.values).toEqual([
    expect.objectContaining({ labels: { procedure: "test.say", status }, value: 1 }),
  ]);
});

it.each(["\r\n", "\r\n\r\n", "\n"])("skips %j after a body, whenever it comes", async (ends) => {
  const gate = Promise.withResolvers<void>();
  const { app, port, requests, untilRead } = await start({
    authenticate: async (...given) => {
      await gate.promise;
      return (parts.authenticate as ServerParts["authenticate"])(...given);
    },
  });
  const { socket, until, over } = open(port);
  const first = requestOf("one");

  socket.write(first);
  await untilRead(first.length);
  socket.write(ends);
  await untilRead(first.length + ends.length);
  gate.resolve();
  await until('"one"');
  socket.write(ends);
  await untilRead(first.length + 2 * ends.length);
  socket.write(requestOf("two") + ends);
  await until('"two"');
  expect(requests()).toBe(0);

  const closingAtMs = performance.now();
  await closeGracefully(app);
  await over();
  expect(performance.now() - closingAtMs).toBeLessThan(30_000);
});

it("takes nothing from a caller that does not read its answers", async () => {
  const { port, requests, untilUnread } = await start();
  const { socket, until } = open(port);

  socket.pause();
  socket.write(requestOf("large"));
  await untilUnread();
  socket.write(requestOf("two"));

  await waitFor(() => requests() === 1, { withinMs: 5_000, what: "the second request" });
  socket.resume();
  await until('"two"');
});

it("as idle closes none that is new, waits for the rest of a request or has not read its answer", async () => {
  const { app, port, untilRead, untilUnread } = await start();
  const half = open(port);
  const request = requestOf("half");
  half.socket.write(request);
  await half.until('"half"');
  half.socket.write(requestOf("rest").slice(0, -5));
  await untilRead(request.length * 2 - 5);
  const [fresh, slow] = [open(port), open(port)];
  slow.socket.pause();
  slow.socket.write(requestOf("large"));
  await untilUnread();

  app.server.closeIdleConnections();

  half.socket.write(requestOf("rest").slice(-5));
  await half.until('"rest"');
  fresh.socket.write(requestOf("fresh"));
  await fresh.until('"fresh"');
  slow.socket.resume();
  expect((await slow.until('a"}}')).length).toBeGreaterThan(largeLength);
});

it("gives a large body away in the order of its bytes, whoever waits for what", async () => {
  const [first, key] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { port } = await start({
    authenticate: async (header, ...rest) => {
      await (header === "Bearer slow" ? key.promise : first.promise);
      return (parts.authenticate as ServerParts["authenticate"])(header, ...rest);
    },
  });
  const { socket, until } = open(port);
  const long = Array.from({ length: 60_000 }, (_, n) => n).join(" ");
  const large = requestOf(long, ["authorization: Bearer slow"]);

  socket.write(requestOf("one") + large.slice(0, 60_000));
  for (let at = 60_000; at < large.length; at += 16_000) {
    socket.write(large.slice(at, at + 16_000));
    await delay(2);
    if (at === 60_000 + 32_000) first.resolve();
    if (at === 60_000 + 96_000) key.resolve();
  }

  expect(await until("59999")).toContain(`"said":"${long}"`);
});

it.each([
  { what: "is connected and silent", sent: "" },
  { what: "sends no more after a part of the body", sent: requestOf("late").slice(0, -5) },
])("answers 408 to who $what", async ({ sent }) => {
  const { port } = await start({ limits: { receiveTimeoutMs: 300 } });
  const { socket, over } = open(port);

  socket.write(sent);

  expect(await over()).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
});

it("answers 400 to who ends within the body", async () => {
  const { port } = await start();
  const { socket, over } = open(port);

  socket.end(requestOf("half").slice(0, -5));

  expect(await over()).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
});

it("closes a connection that is idle for too long", async () => {
  const { port } = await start({ limits: { idleTimeoutMs: 300 } });
  const { socket, until, over } = open(port);

  socket.write(requestOf("one"));
  await until('"one"');

  expect(await over()).toContain('"one"');
});

it("closes idle connections when it is to end, and takes nothing more when it is leaving", async () => {
  let isLeaving = false;
  const { app, port, requests } = await start({ isLeaving: () => isLeaving });
  const [idle, kept] = [open(port), open(port)];
  for (const { socket, until } of [idle, kept]) {
    socket.write(requestOf("one"));
    await until('"one"');
  }

  isLeaving = true;
  kept.socket.write(requestOf("two"));
  expect(await kept.over()).toMatch(/"one".*\r\nconnection: close\r\n.*"two"/s);
  expect(requests()).toBe(1);

  await app.close();
  await idle.over();
});

/** As they were before there was a fast lane. */
const keptAlive = "Date: now\r\nConnection: keep-alive\r\nKeep-Alive: timeout=72\r\n\r\n";

it.each([false, true])("answers in the same bytes as ever (fast lane: %s)", async (hasFastLane) => {
  const { port } = await start({
    hasFastLane,
    admit: ({ keyId }) => {
      expect(keyId).toBe("key_test");
      return { "RateLimit-Limit": "5" };
    },
  });
  const answerTo = async (request: string, end: string) => {
    const { socket, until } = open(port);
    socket.write(request);
    return stable(await until(end));
  };

  expect(await answerTo(requestOf("é"), "data")).toBe(
    `HTTP/1.1 200 OK\r\nratelimit-limit: 5\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: 66\r\n${keptAlive}` +
      '{"meta":{"requestId":"req_1"},"data":{"said":"é"}}',
  );
  expect(await answerTo(requestOf("gone"), "}}")).toBe(
    `HTTP/1.1 404 Not Found\r\nratelimit-limit: 5\r\ncontent-type: application/json\r\ncontent-length: 173\r\n${keptAlive}` +
      '{"meta":{"requestId":"req_1"},"error":{"title":"Not Found","detail":"There is none.","status":404,"type":"https://docs.test/errors/unkey/data/key_not_found"}}',
  );
  expect(await answerTo(requestOf("a", []), "}}")).toBe(
    `HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: 179\r\n${keptAlive}` +
      '{"meta":{"requestId":"req_1"},"error":{"title":"Unauthorized","detail":"No key.","status":401,"type":"https://docs.test/errors/unkey/authentication/key_not_found"}}',
  );
});

it.each([false, true])(
  "answers 500 when the answer cannot be sent, with the limit's headers if those can be (fast lane: %s)",
  async (hasFastLane) => {
    let limit = "5";
    const { port } = await start({
      hasFastLane,
      validatesAnswers: false,
      admit: () => ({ "RateLimit-Limit": limit }),
    });
    const answerTo = async (said: string) => {
      const { socket, until } = open(port);
      socket.write(requestOf(said));
      return stable(await until("}}"));
    };

    const limited = /^HTTP\/1\.1 500 [^{]*ratelimit-limit: 5\r\n/;
    expect(await answerTo("fail")).toMatch(limited);
    expect(await answerTo("nothing")).toMatch(limited);
    limit = "5\r\n6";
    const broken = await answerTo("a");
    expect(broken).toMatch(/^HTTP\/1\.1 500 /);
    expect(broken).not.toContain("ratelimit-limit");
  },
);

it.each([false, true])(
  "answers a 429 as a problem, with its headers (fast lane: %s)",
  async (given) => {
    const { port } = await start({
      hasFastLane: given,
      admit: () => {
        throw new ApiError("user/too_many_requests/workspace_rate_limited", "Too many.", {
          headers: { "RateLimit-Limit": "5", "Retry-After": "7" },
        });
      },
    });
    const { socket, until } = open(port);

    socket.write(requestOf("a"));

    expect(stable(await until("}}"))).toMatch(
      /^HTTP\/1\.1 429 Too Many Requests\r\nratelimit-limit: 5\r\nretry-after: 7\r\ncontent-type: application\/problem\+json\r\n/,
    );
  },
);
