/** Requests that are answered in front of the framework, and those that are left to it. */
import { lookup } from "node:dns/promises";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { createControl } from "#control/control.ts";
import type { Door, ShortAnswer } from "#control/short-answers.ts";
import { httpUrl } from "#kernel/address.ts";
import { dial } from "../../support/rollout/sentinel.ts";
import { waitFor } from "../../support/wait-for.ts";

const token = "t".repeat(43);

/** A door that says who answered, and when the test says so: each request waits for its turn to be `answered`. */
function startDoor() {
  const waiting: ((answer: ShortAnswer) => void)[] = [];
  const door: Door = {
    isMine: (path) => path.startsWith(`/${token}`),
    plugin: async (app) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser("*", { parseAs: "string" }, async () => null);
      app.route({
        method: ["GET", "HEAD", "POST"],
        url: `/${token}`,
        handler: async () => "framework",
      });
    },
    answer: (_, path) => {
      if (path !== `/${token}`) return null;
      const { promise, resolve } = Promise.withResolvers<ShortAnswer>();
      waiting.push(resolve);
      return promise;
    },
  };
  return { door, waiting };
}

type Line = Record<string, unknown> & { msg: string };

async function startBench({
  isLeaving = false,
  isWaiting = false,
  host = "127.0.0.1",
  closeGraceMs = 1_000,
  level = "debug",
  answer: given = undefined as Door["answer"] | undefined,
} = {}) {
  const { door, waiting } = startDoor();
  const lines: Line[] = [];
  const control = createControl({
    ingressUrl: "http://127.0.0.1:9",
    ingressToken: "the-ingress-token",
    log: pino({ level }, { write: (line: string) => lines.push(JSON.parse(line)) }),
    isLeaving: () => isLeaving,
    closeGraceMs,
    trustedProxies: ["127.0.0.0/8"],
    doors: [
      {
        ...door,
        answer:
          given ??
          ((method, path) => {
            const answer = door.answer?.(method, path) ?? null;
            if (!isWaiting) waiting.shift()?.({ status: 200, body: "short" });
            return answer;
          }),
      },
    ],
  });
  onTestFinished(() => control.close());
  const url = await control.listen({ host, port: 0 });
  return { url, lines, waiting, control };
}

/** A request with these lines, and without a body. */
const aRequest = (first: string, ...lines: string[]) =>
  [`${first} HTTP/1.1`, "host: x", ...lines, "", ""].join("\r\n");

/** What is sent back to a request on a connection of its own, until its answer is complete. */
async function ask(url: string, text: string, end = /(?:short|framework)$/) {
  const connection = await dial(url);
  connection.send(text);
  await connection.received(end);
  return connection.state.text;
}

it.each([
  ["GET", aRequest(`GET /${token}`)],
  ["POST without a body", aRequest(`POST /${token}`, "content-length: 0")],
  ["with a query", aRequest(`GET /${token}?rid=17`)],
  ["kept alive", aRequest(`GET /${token}`, "connection: Keep-Alive")],
])("%s is answered in front of the framework", async (_, request) => {
  const { url } = await startBench();

  const text = await ask(url, request);

  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toMatch(/\r\ncontent-length: 5\r\n.*\r\n\r\nshort$/is);
});

it.each([
  ["a body", aRequest(`POST /${token}`, "content-length: 4").concat("done")],
  [
    "a body in chunks",
    aRequest(`POST /${token}`, "transfer-encoding: chunked").concat("4\r\ndone\r\n0\r\n\r\n"),
  ],
  ["an expectation", aRequest(`POST /${token}`, "expect: 100-continue", "content-length: 0")],
  ["an upgrade", aRequest(`GET /${token}`, "connection: upgrade", "upgrade: h2c")],
  ["another connection", aRequest(`GET /${token}`, "connection: close, x-hop")],
  ["an earlier version", aRequest(`GET /${token}`).replace("HTTP/1.1", "HTTP/1.0")],
])("a request with %s is the framework's", async (_, request) => {
  const { url } = await startBench();

  expect(await ask(url, request)).toMatch(/framework$/);
});

it("HEAD is answered as GET is, without the text", async () => {
  const { url } = await startBench();

  const text = await ask(url, aRequest(`HEAD /${token}`), /\r\n\r\n/);

  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\r\ncontent-length: 5\r\n.*\r\n\r\n$/is);
});

it("a caller that asks for it has its connection closed", async () => {
  const { url } = await startBench();
  const caller = await dial(url);

  caller.send(aRequest(`GET /${token}`, "connection: close"));
  await caller.closed();

  expect(caller.state.text).toMatch(/\r\nconnection: close\r\n.*short$/is);
});

it("a process that is about to end closes the connection after its answer", async () => {
  const { url } = await startBench({ isLeaving: true });
  const caller = await dial(url);

  caller.send(aRequest(`GET /${token}`));
  await caller.closed();

  expect(caller.state.text).toMatch(/\r\nconnection: close\r\n.*short$/is);
});

/** Closes the gateway while these requests of one connection wait for their answers. */
async function closeWhileWaiting(count: number) {
  const { url, waiting, control } = await startBench({ isWaiting: true, closeGraceMs: 3_600_000 });
  const caller = await dial(url);
  caller.send(aRequest(`GET /${token}`).repeat(count));
  const untilWaiting = (many: number) =>
    waitFor(() => waiting.length === many, { withinMs: 10_000, what: `${many} requests` });
  await untilWaiting(count);
  const closed = control.close();
  const what = "the end of listening";
  await waitFor(() => !control.server.listening, { withinMs: 10_000, what });
  return { caller, waiting, closed, untilWaiting };
}

it("an answer that waits when the gateway closes is sent, and ends the wait and its connection", async () => {
  const { caller, waiting, closed } = await closeWhileWaiting(1);

  waiting[0]?.({ status: 200, body: "short" });
  await closed;
  await caller.closed();

  expect(caller.state.text).toMatch(/^HTTP\/1\.1 200 OK\r\n.*short$/is);
});

it("all answers that wait on one connection when the gateway closes are sent", async () => {
  const { caller, waiting, closed } = await closeWhileWaiting(2);

  waiting[0]?.({ status: 200, body: "first" });
  await caller.received(/first/);
  waiting[1]?.({ status: 200, body: "second" });
  await closed;
  await caller.closed();

  expect(caller.state.text).toMatch(/first.*HTTP\/1\.1 200 OK\r\n.*second$/s);
});

it("a request that comes after the close is answered, and closes its connection", async () => {
  const { caller, waiting, closed, untilWaiting } = await closeWhileWaiting(1);

  caller.send(aRequest(`GET /${token}`));
  await untilWaiting(2);
  waiting[0]?.({ status: 200, body: "first" });
  waiting[1]?.({ status: 200, body: "second" });
  await closed;
  await caller.closed();

  const [, first = "", second = ""] = caller.state.text.split("HTTP/1.1 200 OK");
  expect(first).not.toMatch(/connection: close/i);
  expect(second).toMatch(/\r\nconnection: close\r\n.*second$/is);
});

it.each<[string, NonNullable<Door["answer"]>]>([
  ["rejects", () => Promise.reject(new Error("no answer"))],
  [
    "throws",
    () => {
      throw new Error("no answer");
    },
  ],
  ["has an answer that cannot be sent", async () => ({ status: 1, body: "short" })],
])("a door that %s loses its connection, is logged, and ends nothing else", async (_, answer) => {
  const { url, lines } = await startBench({ answer });
  const caller = await dial(url);

  caller.send(aRequest(`GET /${token}`));
  await caller.closed();

  const other = await ask(url, aRequest("GET /healthz", "connection: x-hop"), /"status":"ok"/);
  expect(other).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(caller.state.text).toBe("");
  expect(lines.filter(({ msg }) => msg === "call failed")).toHaveLength(1);
  expect(lines.filter(({ msg }) => msg === "caller went away")).toEqual([]);
});

it("a caller that a door refuses is logged as everywhere, whatever else is not", async () => {
  const { url, lines } = await startBench({
    level: "info",
    answer: async () => ({ status: 401, body: "short" }),
  });

  await ask(url, aRequest(`GET /${token}`));
  const line = await waitFor(() => lines.find(({ path }) => path === "/***"), {
    withinMs: 10_000,
    what: "the line",
  });

  expect(line).toMatchObject({ status: 401, msg: "caller without a valid token" });
});

it.each([
  ["in front of the framework", []],
  ["by the framework", ["connection: keep-alive, x-hop"]],
])("an address is logged without its port when the answer is made %s", async (_, headers) => {
  const { url, lines } = await startBench();

  const forwarded = "x-forwarded-for: 203.0.113.7:4711, 127.0.0.9";
  await ask(url, aRequest(`GET /${token}`, forwarded, ...headers));
  const line = await waitFor(() => lines.find(({ msg }) => msg === "call answered"), {
    withinMs: 10_000,
    what: "the line",
  });

  expect(line).toMatchObject({ remote: "203.0.113.7" });
});

it("answers requests of one connection in their order, whoever is ready first", async () => {
  const { url, waiting } = await startBench({ isWaiting: true });
  const caller = await dial(url);
  caller.send(
    [aRequest(`GET /${token}`), aRequest(`GET /${token}`), aRequest("GET /healthz")].join(""),
  );
  await waitFor(() => waiting.length === 2, { withinMs: 10_000, what: "both requests" });

  waiting[1]?.({ status: 404, body: "second" });
  waiting[0]?.({ status: 200, body: "first" });
  await caller.received(/"status":"ok"/);

  expect(caller.state.text).toMatch(/first.*second.*"status":"ok"/s);
});

it("closes the connection of a caller that sends a thousand requests ahead", async () => {
  const { url, waiting } = await startBench({ isWaiting: true });
  const stranger = await dial(url);

  stranger.send(aRequest(`GET /${token}`).repeat(1_000));
  await stranger.closed();

  expect(waiting.length).toBeLessThanOrEqual(32);
});

it("logs an answer with its path, without the token, and with the address behind a trusted proxy", async () => {
  const { url, lines } = await startBench();

  await ask(url, aRequest(`GET /${token}?rid=1`, "x-forwarded-for: 203.0.113.7, 127.0.0.9"));
  const line = await waitFor(() => lines.find(({ msg }) => msg === "call answered"), {
    withinMs: 10_000,
    what: "the line",
  });

  expect(line).toMatchObject({ path: "/***", status: 200, remote: "203.0.113.7" });
  expect(line["durationMs"]).toEqual(expect.any(Number));
});

it("logs a caller that went away before its answer, and when", async () => {
  const { url, lines, waiting } = await startBench({ isWaiting: true });
  const caller = await dial(url);
  caller.send(aRequest(`GET /${token}`));
  await waitFor(() => waiting.length === 1, { withinMs: 10_000, what: "the request" });

  caller.destroy();
  const line = await waitFor(() => lines.find(({ msg }) => msg === "caller went away"), {
    withinMs: 10_000,
    what: "the line",
  });
  waiting[0]?.({ status: 200, body: "short" });

  expect(line).toMatchObject({ path: "/***", remote: "127.0.0.1" });
  expect(line["durationMs"]).toEqual(expect.any(Number));
});

it("serves at every address of localhost", async () => {
  const { url } = await startBench({ host: "localhost" });
  const addresses = await lookup("localhost", { all: true });

  const answers = await Promise.all(
    addresses.map(({ address }) =>
      fetch(`${httpUrl({ host: address, port: Number(new URL(url).port) })}/${token}`),
    ),
  );

  expect(answers.map(({ status }) => status)).toEqual(addresses.map(() => 200));
});
