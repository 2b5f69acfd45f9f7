/** The API's HTTP side against clients that behave badly, and its end while some still wait. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { pino } from "pino";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { closeGracefully } from "#api/http/close.ts";
import type { ServerParts } from "#api/http/server.ts";
import { type Procedures, procedure } from "#api/procedure.ts";
import { testServer } from "../../../support/api/api-server.ts";
import { sendBytes } from "../../../support/http/bare-http.ts";
import { waitFor } from "../../../support/wait-for.ts";

/** The fast lane answers procedures that have it. */
const readUsual = () => undefined;

/** A procedure that answers when it is let. */
function gated() {
  const gate = Promise.withResolvers<void>();
  let asked = 0;
  const procedures: Procedures = {
    wait: procedure({
      summary: "Answers when it is let.",
      input: z.object({}),
      readUsual,
      output: z.object({ done: z.boolean() }),
      example: { body: {}, data: { done: true } },
      handle: async () => {
        asked += 1;
        await gate.promise;
        return { data: { done: true } };
      },
    }),
  };
  return { procedures, open: gate.resolve, asked: () => asked };
}

/** A procedure whose answer no buffer between it and its caller holds. */
function largeAnswer() {
  const text = "a".repeat(50_000_000);
  return procedure({
    summary: "Answers at length.",
    input: z.object({}),
    readUsual,
    output: z.object({ text: z.string() }),
    example: { body: {}, data: { text: "a" } },
    handle: () => ({ data: { text } }),
  });
}

const anyone = {
  authenticate: () => ({
    keyId: "key_test",
    name: undefined,
    workspaceId: "ws_test",
    grants: { allow: () => true, names: () => [] } as never,
    limitPerMinute: undefined,
  }),
} satisfies Partial<ServerParts>;

const post = (url: string, body: string, init: RequestInit = {}) =>
  fetch(`${url}/v2/test.wait`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    ...init,
  });

describe.each([
  { by: "Node's HTTP server alone", hasFastLane: false },
  { by: "the fast lane in front of it", hasFastLane: true },
])("the API served by $by:", ({ hasFastLane }) => {
  async function start(procedures: Procedures = {}, parts: Partial<ServerParts> = {}) {
    const app = testServer({ test: procedures }, { ...anyone, hasFastLane, ...parts });
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    onTestFinished(async () => {
      app.server.closeAllConnections();
      await app.close();
    });
    return { app, url };
  }

  describe("a client that does not wait for answers", () => {
    const request =
      "POST /v2/test.wait HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

    it("is cut off when it sends a thousand requests ahead", async () => {
      const gate = gated();
      onTestFinished(() => gate.open());
      const { url } = await start(gate.procedures);

      const { port } = new URL(url);
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      // With most of it unread it is reset.
      socket.on("error", () => {});
      const left = new Promise((resolve) => socket.once("close", resolve));
      socket.resume().write(request.repeat(1_000));
      await waitFor(() => gate.asked() > 0, { withinMs: 30_000, what: "the first" });
      // The fast lane asks for one at a time; the others follow its answer.
      if (hasFastLane) gate.open();

      const end = await Promise.race([left, delay(30_000, "still there", { ref: false })]);

      expect(end).not.toBe("still there");
      expect(gate.asked()).toBeLessThanOrEqual(hasFastLane ? 33 : 32);
    });

    it("gets its answers when it sends a few ahead, again and again on one connection", async () => {
      const gate = gated();
      gate.open();
      const { url } = await start(gate.procedures);
      const { port } = new URL(url);
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      onTestFinished(() => void socket.destroy());
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      const answers = () => text.split('"done":true').length - 1;

      for (let round = 1; round <= 5; round += 1) {
        socket.write(request.repeat(30));
        const what = `the answers of round ${round}`;
        await waitFor(() => answers() === 30 * round, { withinMs: 30_000, what });
      }

      expect(text).not.toContain("HTTP/1.1 4");
    });
  });

  const bodyOf = (answer: string) => JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));

  describe("a client that is too slow", () => {
    const limits = { receiveTimeoutMs: 600 };

    it("with its headers is answered 408 and cut off", async () => {
      const { url } = await start({}, { limits });
      const drip = ["POST /v2/test.wait HTTP/1.1\r\n", ..."x-slow: ".padEnd(600, "a")];

      const { answer, tookMs } = await sendBytes(url, drip, 100);

      expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
      expect(bodyOf(answer)).toEqual({
        meta: { requestId: expect.stringMatching(/^req_\w{16}$/) },
        error: {
          title: "Request Timeout",
          status: 408,
          detail: "The request was not received in time.",
          type: "https://docs.test/errors/user/bad_request/request_timeout",
          errors: [],
        },
      });
      // Long before it had sent all that it would: a minute's worth.
      expect(tookMs).toBeLessThan(30_000);
    });

    it("with its body is answered 408 and cut off", async () => {
      const { url } = await start(gated().procedures, { limits });
      const head =
        "POST /v2/test.wait HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";

      const { answer } = await sendBytes(url, [head, ..."{".padEnd(100)], 100);

      expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
    });

    it("is gone soon after its 408, even if it goes on sending and never closes", async () => {
      const { app, url } = await start({}, { limits });
      const { port } = new URL(url);
      const socket = connect({ host: "127.0.0.1", port: Number(port), allowHalfOpen: true });
      socket.on("error", () => {});
      const drip = setInterval(() => socket.writable && socket.write("x-slow: a\r\n"), 100);
      onTestFinished(() => {
        clearInterval(drip);
        socket.destroy();
      });
      const left = once(app.server, "connection").then(([ours]) => once(ours as Socket, "close"));

      socket.pause();
      socket.write("POST /v2/test.wait HTTP/1.1\r\n");

      const end = await Promise.race([left, delay(30_000, "still there", { ref: false })]);
      expect(end).not.toBe("still there");
    });

    it("to read its answer is cut off", async () => {
      const { app, url } = await start({ wait: largeAnswer() }, { limits: { idleTimeoutMs: 500 } });
      const { port } = new URL(url);
      const socket = connect({ host: "127.0.0.1", port: Number(port) });
      onTestFinished(() => void socket.destroy());
      const left = once(app.server, "connection").then(([ours]) => once(ours as Socket, "close"));
      const head = "POST /v2/test.wait HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";

      socket.pause();
      socket.write(`${head}content-length: 2\r\n\r\n{}`);

      const end = await Promise.race([left, delay(60_000, "still there", { ref: false })]);
      expect(end).not.toBe("still there");
    });

    it("keeps nobody else waiting", async () => {
      const { url } = await start({}, { limits: { receiveTimeoutMs: 120_000 } });
      let ended = 0;
      for (let n = 0; n < 200; n += 1) {
        void sendBytes(url, ["POST /v2/test.wait HTTP/1.1\r\n"], 5).then(() => ended++);
      }

      const answer = await fetch(`${url}/v2/liveness`);

      expect(answer.status).toBe(200);
      // All of them are still at it.
      expect(ended).toBe(0);
    });
  });

  describe("what is no request", () => {
    it.each([
      ["no HTTP at all", "hello\r\n\r\n", 400],
      ["headers of 20 kB", `GET / HTTP/1.1\r\nx-long: ${"a".repeat(20_000)}\r\n\r\n`, 431],
      [
        "a bad content length",
        "POST /v2/x HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n",
        400,
      ],
    ])("%s is answered in the shape of every refusal", async (_, bytes, status) => {
      const { url } = await start();

      const { answer } = await sendBytes(url, [bytes]);

      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(bodyOf(answer).error).toMatchObject({ status, errors: [] });
    });

    it("a request without a host is refused with a path as its type", async () => {
      const { url } = await start(gated().procedures, { docsUrl: "" });
      const head = "POST /v2/test.wait HTTP/1.0\r\ncontent-type: application/json\r\n";

      const { answer } = await sendBytes(url, [`${head}content-length: 2\r\n\r\n[]`]);

      expect(bodyOf(answer).error.type).toBe("/docs/errors/unkey/application/invalid_input");
    });

    it("an address that cannot be decoded is answered 400, in plain text", async () => {
      const { url } = await start();

      const answer = await fetch(`${url}/v2/%zz`, { method: "POST" });

      expect(answer.status).toBe(400);
      expect(answer.headers.get("content-type")).toContain("text/plain");
    });
  });

  describe("liveness", () => {
    /** As long as a quick one of many takes: others may have waited for a machine that is busy. */
    async function quickMs(ask: () => Promise<unknown>): Promise<number> {
      const times: number[] = [];
      for (let n = 0; n < 101; n += 1) {
        const startedAtMs = performance.now();
        await ask();
        times.push(performance.now() - startedAtMs);
      }
      return times.toSorted((one, other) => one - other)[10] as number;
    }

    it("is answered within 5 ms, also while others wait for the database", async () => {
      const { procedures, open, asked } = gated();
      const { url } = await start(procedures);
      const calmMs = await quickMs(async () => (await fetch(`${url}/v2/liveness`)).text());
      const waiting = Array.from({ length: 200 }, () => post(url, "{}"));
      await waitFor(() => asked() === 200, { withinMs: 10_000, what: "all to wait" });

      const tookMs = await quickMs(async () => (await fetch(`${url}/v2/liveness`)).text());
      open();
      await Promise.all(waiting.map(async (answer) => (await answer).text()));

      // Where 5 ms are not enough on a machine for anyone, as long as it takes when nobody waits.
      expect(tookMs).toBeLessThan(Math.max(5, 3 * calmMs));
    });
  });

  describe("limits", () => {
    it("answers 408 when a handler takes too long", async () => {
      const { url } = await start(gated().procedures, { limits: { answerTimeoutMs: 200 } });

      const answer = await post(url, "{}");

      expect(answer.status).toBe(408);
      expect(await answer.json()).toMatchObject({
        error: { title: "Request Timeout", errors: [] },
      });
    });

    it("takes a body of 10 MiB and refuses a byte more with 413", async () => {
      const { procedures, open } = gated();
      open();
      const { url } = await start(procedures);
      const limit = 10 * 1024 * 1024;

      const taken = await post(url, "{}".padEnd(limit));
      const refused = await post(url, "{}".padEnd(limit + 1));

      expect(taken.status).toBe(200);
      expect(refused.status).toBe(413);
      expect(await refused.json()).toMatchObject({
        error: {
          title: "Request Entity Too Large",
          detail: `The request body exceeds the maximum allowed size of ${limit} bytes.`,
        },
      });
    });

    it("tells no other origin anything: CORS is off", async () => {
      const { url } = await start();
      const headers = { origin: "https://evil.example", "access-control-request-method": "POST" };

      const answers = [
        await fetch(`${url}/v2/liveness`, { headers }),
        await fetch(`${url}/v2/test.wait`, { method: "OPTIONS", headers }),
      ];

      const names = answers.flatMap((answer) => [...answer.headers.keys()]);
      expect(names.filter((name) => name.startsWith("access-control-"))).toEqual([]);
    });
  });

  describe("the end", () => {
    it("comes after requests in flight were answered", async () => {
      const { procedures, open, asked } = gated();
      const { app, url } = await start(procedures);
      const waiting = post(url, "{}");
      await waitFor(() => asked() === 1, { withinMs: 5_000, what: "the request to arrive" });

      const startedAtMs = performance.now();
      const closing = closeGracefully(app, 120_000);
      setTimeout(open, 200);
      const answer = await waiting;
      await closing;

      expect(answer.status).toBe(200);
      // Not at the end of what it would wait for a request that is never answered.
      expect(performance.now() - startedAtMs).toBeLessThan(60_000);
      await expect(fetch(`${url}/v2/liveness`)).rejects.toThrow();
    });

    it("does not wait for ever for a request", async () => {
      const { procedures, asked } = gated();
      const { app, url } = await start(procedures);
      const waiting = post(url, "{}").catch(() => "cut off");
      await waitFor(() => asked() === 1, { withinMs: 5_000, what: "the request to arrive" });

      await closeGracefully(app, 300);

      expect(await waiting).toBe("cut off");
    });
  });

  describe("metrics", () => {
    it("count requests by procedure and status, with how long they took", async () => {
      const { procedures, open } = gated();
      open();
      const registry = new Registry();
      const { url } = await start(procedures, { registry });

      await post(url, "{}");
      await post(url, "{}");
      await post(url, "[]");
      await fetch(`${url}/v2/liveness`);

      const text = await registry.metrics();
      expect(text).toContain('vedette_api_requests_total{procedure="test.wait",status="200"} 2');
      expect(text).toContain('vedette_api_requests_total{procedure="test.wait",status="400"} 1');
      expect(text).toContain('vedette_api_requests_total{procedure="liveness",status="200"} 1');
      expect(text).toContain(
        'vedette_api_request_duration_seconds_bucket{procedure="test.wait",le="+Inf"} 3',
      );
      expect(text).toContain('vedette_api_request_duration_seconds_count{procedure="test.wait"} 3');
      expect(text).toContain("# TYPE vedette_api_request_duration_seconds histogram");
    });

    it("count a caller that did not wait as 499", async () => {
      const { procedures, asked } = gated();
      const registry = new Registry();
      const { url } = await start(procedures, { registry });
      const abort = new AbortController();
      const waiting = post(url, "{}", { signal: abort.signal }).catch(() => "gone");
      await waitFor(() => asked() === 1, { withinMs: 5_000, what: "the request to arrive" });

      abort.abort();
      await waiting;

      await waitFor(async () => /status="499"\} 1/.test(await registry.metrics()), {
        withinMs: 5_000,
        what: "the 499",
      });
    });
  });

  it("counts a caller that goes within the body of its request as 499", async () => {
    const registry = new Registry();
    const { url } = await start(gated().procedures, { registry });
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(url).port) });

    socket.write(
      "POST /v2/test.wait HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{",
    );
    await delay(100);
    socket.destroy();

    await waitFor(async () => /status="499"\} 1/.test(await registry.metrics()), {
      withinMs: 5_000,
      what: "the 499",
    });
  });

  describe("the request log", () => {
    it("has a line per request and nothing of its headers, query or body", async () => {
      const lines: string[] = [];
      const log = pino({ base: null }, { write: (line) => lines.push(line) });
      const { url } = await start({}, { log, logsRequests: true });

      const answer = await fetch(`${url}/v2/test.wait?token=secret-query`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: "Bearer secret-header",
          cookie: "session=secret-cookie",
        },
        body: JSON.stringify({ key: "secret-body" }),
      });
      await answer.text();

      await waitFor(() => lines.length === 1, { withinMs: 5_000, what: "the line" });
      expect(JSON.parse(lines[0] ?? "")).toMatchObject({
        msg: "request answered",
        method: "POST",
        path: "/v2/test.wait",
        requestId: expect.stringMatching(/^req_/),
      });
      expect(lines.join("")).not.toContain("secret");
    });
  });
});
