/** The gateway before an ingress that records what reaches it. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createControl } from "#control/control.ts";
import { HungError } from "#kernel/hang-watch.ts";
import { ingressPath } from "#kernel/ingress.ts";
import { createLog } from "#kernel/log.ts";
import { dial } from "../../support/rollout/sentinel.ts";

type Reached = { path: string; headers: IncomingHttpHeaders; body: string };
type IngressReply = { status: number; body: unknown } | "reset" | "hang";
type Limits = NonNullable<Parameters<typeof createControl>[0]["ingressLimits"]>;

const token = "the-ingress-token";
const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const image = "registry.example.com/vedette/sentinel:v2";

type AskDatabase = NonNullable<Parameters<typeof createControl>[0]["askDatabase"]>;

async function startBench(
  replies: (IngressReply | Promise<IngressReply>)[] = [],
  ingressLimits: Limits = {},
  askDatabase: AskDatabase = async () => {},
) {
  const reached: Reached[] = [];
  const ingress = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    reached.push({ path: incoming.url ?? "", headers: incoming.headers, body });
    const reply = (await replies.shift()) ?? { status: 200, body: { state: "idle" } };
    if (reply === "hang") return;
    if (reply === "reset") incoming.socket.resetAndDestroy();
    else
      outgoing.writeHead(reply.status, { "x-restate-id": "inv_1" }).end(JSON.stringify(reply.body));
  });
  ingress.listen(0, "127.0.0.1");
  await once(ingress, "listening");
  const { port } = ingress.address() as AddressInfo;
  const control = createControl({
    ingressUrl: `http://127.0.0.1:${port}`,
    ingressToken: token,
    log: createLog({ level: "silent", format: "json" }),
    // No shorter, so that a short pause of the machine closes no other connection.
    receiveTimeoutMs: 1_500,
    ingressLimits,
    askDatabase,
  });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      body: "{}",
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        ...(init.headers as Record<string, string> | undefined),
      },
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text, body: JSON.parse(text || "{}") };
  };
  const stopIngress = () => {
    ingress.closeAllConnections();
    return new Promise((resolve) => ingress.close(resolve));
  };
  return {
    reached,
    url,
    call,
    stopIngress,
    stop: async () => {
      await control.close();
      await stopIngress();
    },
  };
}

let bench: Awaited<ReturnType<typeof startBench>>;

afterEach(() => bench.stop());

describe("requests that the gateway refuses", () => {
  beforeEach(async () => {
    bench = await startBench();
  });

  afterEach(() => {
    expect(bench.reached).toEqual([]);
  });

  it.each([
    ["no token", { authorization: "" }],
    ["another token", { authorization: "Bearer wrong" }],
    ["another scheme", { authorization: `Basic ${token}` }],
  ])("refuses %s with 401", async (_, headers) => {
    const { status, headers: answered, body } = await bench.call(`${rollout}/Status`, { headers });

    expect(status).toBe(401);
    expect(answered.get("www-authenticate")).toBe("Bearer");
    expect(answered.get("content-type")).toContain("application/problem+json");
    expect(body).toMatchObject({ status: 401, code: "unauthorized", message: body.detail });
  });

  it("answers the same for every path without a valid token", async () => {
    const headers = { authorization: "Bearer wrong" };

    const answers = await Promise.all(
      ["/", `${rollout}/begin`, "/nowhere", "/healthz", "/%zz"].map((path) =>
        bench.call(path, { headers }),
      ),
    );

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 401));
  });

  it.each([`POST ${rollout}/Rollout HTTP/1.1`, "GET /%zz HTTP/1.1"])(
    "closes the connection of an unknown caller that sends a thousand requests ahead, as %s",
    async (line) => {
      const stranger = await dial(bench.url);
      stranger.send(`${line}\r\nhost: x\r\ncontent-length: 0\r\n\r\n`.repeat(1_000));
      await stranger.closed();

      expect(stranger.state.text.split("HTTP/1.1 4").length - 1).toBeLessThanOrEqual(32);
    },
  );

  it("stops reading from an unknown caller that does not stop sending", async () => {
    const answer = await streamForever(bench.url);

    expect(answer).toContain("401");
  });

  it.each([
    "/vedette.v1.SentinelRolloutService/other/Rollout",
    "/vedette.v1.SentinelRolloutService/other/Rollout/send",
    `${rollout}/begin`,
    `${rollout}/runnerEnded`,
    "/vedette.v1.SentinelService/gw-1/Deploy",
    "/vedette.v1.RolloutRunner/run",
    "/restate/health",
    "/%zz",
    "/",
  ])("answers 404 for %s", async (path) => {
    expect((await bench.call(path)).status).toBe(404);
  });

  it("names the only key when another one is called", async () => {
    const { body } = await bench.call("/vedette.v1.SentinelRolloutService/other/Rollout");

    expect(body.detail).toBe('there is no fleet other; the only one is "singleton"');
  });

  it.each([
    ["Rollout/send?delay=1h", "delay", "not_before"],
    ["Rollout?delaySec=60", "delaySec", "not_before"],
    ["Resume/send?%64elay=1h&x=1", "x", "not_before"],
    ["Status?idempotency-key=a", "idempotency-key", "is a header"],
    ["Status?", "query parameters are not supported here", "is in its body"],
  ])("refuses the query of %s by name, with what to use instead", async (call, name, instead) => {
    const { status, body } = await bench.call(`${rollout}/${call}`);

    expect(status).toBe(400);
    expect(body.detail).toContain(name);
    expect(body.detail).toContain(instead);
  });

  it("refuses a Rollout without an image", async () => {
    const { status, body } = await bench.call(`${rollout}/Rollout`, { body: "" });

    expect(status).toBe(400);
    expect(body.detail).toMatch(/^image: /);
  });

  it.each(["text/plain", "application/x-www-form-urlencoded", "application/json-patch+json"])(
    "refuses %s with 415",
    async (type) => {
      const { status } = await bench.call(`${rollout}/Status`, {
        headers: { "content-type": type },
      });

      expect(status).toBe(415);
    },
  );

  it("answers a head that is too large as a problem with an id", async () => {
    const answer = await rawRequest(bench.url, [
      "GET / HTTP/1.1",
      `x: ${"a".repeat(20_000)}`,
      "",
      "",
    ]);

    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(answer).toContain('"requestId":"');
  });

  it.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])("refuses %s with 405", async (method) => {
    const init = method === "GET" ? { method, body: null } : { method };

    const { status, headers } = await bench.call(`${rollout}/Status`, init);

    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("POST");
  });

  it.each(["{image", "", "[]", '"text"', "null", '{"__proto__": {}}'])(
    "refuses the body %j of a Rollout with 400",
    async (body) => {
      expect((await bench.call(`${rollout}/Rollout`, { body })).status).toBe(400);
    },
  );

  it.each([`${rollout}/Rollout`, `${rollout}/Rollout/send`])(
    "refuses a request that is not well-formed at %s, with one line per fault",
    async (path) => {
      const body = JSON.stringify({ image: "no-tag", wave_percentages: [50], extra: 1 });

      const { status, body: problem } = await bench.call(path, { body });

      expect(status).toBe(400);
      expect(problem.detail.split("\n")).toHaveLength(3);
    },
  );

  it("refuses a body over 1 MiB with 413", async () => {
    const body = JSON.stringify({ image: "x".repeat(1_100_000) });

    expect((await bench.call(`${rollout}/Rollout`, { body })).status).toBe(413);
  });

  it("closes the connection of a caller that does not send its body", async () => {
    const answer = await rawRequest(bench.url, [
      `POST ${rollout}/Status HTTP/1.1`,
      "host: x",
      `authorization: Bearer ${token}`,
      "content-type: application/json",
      "content-length: 10",
      "",
      "{",
    ]);

    expect(answer).toContain("408");
    expect(answer).toContain('"code":"timeout"');
  });

  it("closes the connection of a caller that does not finish its headers", async () => {
    const answer = await rawRequest(bench.url, [`POST ${rollout}/Status HTTP/1.1`, "host: x"]);

    expect(answer).toContain("408");
  });

  it("allows no other origin", async () => {
    const { headers } = await bench.call(`${rollout}/nothing`, {
      headers: { origin: "https://evil.example.com" },
    });

    expect(headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("requests that the gateway forwards", () => {
  it("forwards a call with its actor, and none of the caller's headers", async () => {
    bench = await startBench();
    const body = JSON.stringify({ image });

    await bench.call(`${rollout}/Rollout`, { body, headers: { "x-vedette-actor": "someone" } });

    const [call] = bench.reached;
    expect(call).toMatchObject({ path: ingressPath(`${rollout}/Rollout`), body });
    expect(call?.headers["x-vedette-actor"]).toBe("ingress-token");
    expect(call?.headers.authorization).toBeUndefined();
  });

  it("treats a missing body as an empty one where the handler needs nothing", async () => {
    bench = await startBench();

    const { status } = await bench.call(`${rollout}/Cancel`, { body: "" });

    expect(status).toBe(200);
    expect(bench.reached[0]?.body).toBe("{}");
  });

  it("answers a send with 202 and the invocation", async () => {
    const accepted = { invocationId: "inv_1", status: "Accepted" };
    bench = await startBench([{ status: 202, body: accepted }]);

    const answer = await bench.call(`${rollout}/Rollout/send`, { body: JSON.stringify({ image }) });

    expect(answer).toMatchObject({ status: 202, body: accepted });
    expect(answer.headers.get("x-restate-id")).toBe("inv_1");
  });

  it("forwards a refusal with its status and message, as a problem", async () => {
    const refusal = {
      code: 409,
      message: "Resume is not legal in state idle; legal now: Rollout",
      metadata: { code: "illegal_operation" },
    };
    bench = await startBench([{ status: 409, body: refusal }]);

    const { status, body } = await bench.call(`${rollout}/Resume`);

    expect(status).toBe(409);
    expect(body).toMatchObject({
      code: "illegal_operation",
      detail: refusal.message,
      message: refusal.message,
    });
  });

  it("never forwards the message of a failed handler", async () => {
    const body = { message: "TypeError at /srv/app/object.ts:12", stacktrace: "at begin (…)" };
    bench = await startBench([{ status: 500, body }]);

    const answer = await bench.call(`${rollout}/Status`);

    expect(answer.status).toBe(500);
    expect(answer.text).not.toMatch(/object\.ts|TypeError|at begin/);
  });

  it("forwards no answer that is longer than 64 MiB, and does not repeat the call", async () => {
    bench = await startBench([{ status: 200, body: "x".repeat(65 * 1024 * 1024) }]);

    const { status, body } = await bench.call(`${rollout}/Cancel`);

    expect(status).toBe(502);
    expect(body.detail).toContain("larger than 64 MiB");
    // A slow machine asks for a sign of life besides.
    const calls = bench.reached.filter(({ path }) => path !== "/restate/health");
    expect(calls).toHaveLength(1);
  });

  it("repeats a call under the same key when the connection to Restate breaks", async () => {
    bench = await startBench(["reset", "reset"]);

    const { status } = await bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }) });

    const keys = bench.reached.map(({ headers }) => headers["idempotency-key"]);
    expect(status).toBe(200);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it("attaches again under the same key when an answer takes long", async () => {
    bench = await startBench(["hang", "hang"], { attemptMs: 300 });

    const { status } = await bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }) });

    const keys = bench.reached.map(({ headers }) => headers["idempotency-key"]);
    expect(status).toBe(200);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it("repeats a call while Restate itself cannot accept it", async () => {
    const starting = { status: 503, body: { message: "no leader yet", source: "ingress" } };
    bench = await startBench([starting]);

    expect((await bench.call(`${rollout}/Status`)).status).toBe(200);
    expect(bench.reached).toHaveLength(2);
  });

  it("retries a blocked call no longer than its limit, and says what to do then", async () => {
    bench = await startBench(["hang", "hang", "hang"], { attemptMs: 200, totalMs: 500 });

    const answer = await bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }) });

    expect(answer).toMatchObject({ status: 504, body: { code: "timeout" } });
    expect(answer.body.detail).toContain("Status");
  });

  it("times out a Status soon", async () => {
    bench = await startBench(["hang"], { timeoutMs: 300 });

    expect((await bench.call(`${rollout}/Status`)).status).toBe(504);
  });

  it("lets a blocking call that began while the database lived wait through its hang, and no other", async () => {
    let isHung = false;
    const ask = async () => {
      if (isHung) throw new HungError("the database does not answer");
      isHung = true;
    };
    bench = await startBench(["hang", "hang", "hang"], {}, ask);
    const body = JSON.stringify({ image });
    const gone = new AbortController();
    const first = bench.call(`${rollout}/Rollout`, { body, signal: gone.signal });
    await expect.poll(() => isHung).toBe(true);

    const others = [bench.call(`${rollout}/Rollout`, { body }), bench.call(`${rollout}/Cancel`)];
    const refused = (await Promise.all(others)).map(({ status }) => status);
    const ended = await Promise.race([first, "waiting"]);

    gone.abort();
    await first.catch(() => {});
    expect([...refused, ended]).toEqual([503, 503, "waiting"]);
  });

  it("prefers a handler's own refusal to the one for a database that hangs", async () => {
    const refusal = { message: "no windows now", metadata: { code: "unavailable" } };
    let answer = (_: IngressReply) => {};
    const reply = new Promise<IngressReply>((resolve) => {
      answer = resolve;
    });
    bench = await startBench([reply], {}, async () => {
      answer({ status: 503, body: refusal });
      throw new HungError("the database does not answer");
    });

    const { body } = await bench.call(`${rollout}/Status`);

    expect(body.detail).toBe("no windows now");
  });

  it("answers 503 with retry-after while Restate cannot be reached", async () => {
    bench = await startBench([], { timeoutMs: 300 });
    await bench.stopIngress();

    const { status, headers } = await bench.call(`${rollout}/Cancel`);

    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("5");
  });

  it("does not let a Cancel wait behind blocked callers", async () => {
    bench = await startBench(Array.from({ length: 60 }, () => "hang" as const));
    const gone = new AbortController();
    const bodies = { Rollout: { image }, Resume: {}, RollbackAll: {} };
    const blocked = Object.entries(bodies).flatMap(([handler, body]) =>
      Array.from({ length: 20 }, () =>
        bench
          .call(`${rollout}/${handler}`, { body: JSON.stringify(body), signal: gone.signal })
          .catch(() => undefined),
      ),
    );
    await expect.poll(() => bench.reached.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(60);

    const { status } = await bench.call(`${rollout}/Cancel`);

    gone.abort();
    await Promise.all(blocked);
    expect(status).toBe(200);
  });

  it("derives the same key from the same caller's key, and does not send the key itself", async () => {
    bench = await startBench();
    const headers = { "idempotency-key": "build-42" };

    await bench.call(`${rollout}/Cancel`, { headers });
    await bench.call(`${rollout}/Cancel`, { headers });

    const keys = bench.reached.map(({ headers: sent }) => sent["idempotency-key"]);
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).not.toContain("build-42");
  });

  it("aborts the call to Restate when the caller disconnects", async () => {
    bench = await startBench(["hang"]);
    const controller = new AbortController();
    const { signal } = controller;
    const call = bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }), signal });
    await expect.poll(() => bench.reached.length).toBe(1);

    controller.abort();

    await expect(call).rejects.toThrow();
    expect(bench.reached).toHaveLength(1);
  });

  it("answers health checks without a token", async () => {
    bench = await startBench();

    const answer = await fetch(`${bench.url}/healthz`);

    expect(await answer.json()).toEqual({ status: "ok" });
  });
});

/** Sends a body without a token and without an end; ends, with the answer, when it was cut off. */
async function streamForever(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk.toString();
  });
  // Writing into a connection that was cut off is what is expected here.
  socket.on("error", () => {});
  socket.write(`POST ${rollout}/Status HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n`);
  const writing = setInterval(() => socket.write("5\r\nhello\r\n"), 20);
  await once(socket, "close");
  clearInterval(writing);
  return answer;
}

/** Sends these lines and no more, and answers what came back until the connection was closed. */
async function rawRequest(url: string, lines: string[]): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(lines.join("\r\n"));
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk.toString();
  });
  await once(socket, "close");
  return answer;
}
