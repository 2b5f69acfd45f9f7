/** The gateway before an ingress that records what reaches it. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createControl } from "#control/control.ts";
import { createLog } from "#kernel/log.ts";

type Reached = { path: string; headers: IncomingHttpHeaders; body: string };
type IngressReply = { status: number; body: unknown } | "reset" | "hang";

const token = "the-ingress-token";
const rollout = "/vedette.v1.SentinelRolloutService/singleton";
const image = "registry.example.com/vedette/sentinel:v2";

async function startBench(replies: IngressReply[] = []) {
  const reached: Reached[] = [];
  const ingress = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    reached.push({ path: incoming.url ?? "", headers: incoming.headers, body });
    const reply = replies.shift() ?? { status: 200, body: { state: "idle" } };
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
    receiveTimeoutMs: 500,
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
  return {
    reached,
    url,
    call,
    stop: async () => {
      await control.close();
      ingress.closeAllConnections();
      await new Promise((resolve) => ingress.close(resolve));
    },
  };
}

let bench: Awaited<ReturnType<typeof startBench>>;

afterEach(() => bench.stop());

describe("what the gateway keeps from Restate", () => {
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

  it("tells a stranger nothing of which paths there are", async () => {
    const headers = { authorization: "Bearer wrong" };

    const answers = await Promise.all(
      ["/", `${rollout}/begin`, "/nowhere"].map((path) => bench.call(path, { headers })),
    );

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it.each([
    "/vedette.v1.SentinelRolloutService/other/Rollout",
    `${rollout}/begin`,
    `${rollout}/runnerEnded`,
    "/vedette.v1.SentinelService/gw-1/Deploy",
    "/vedette.v1.RolloutRunner/run",
    "/restate/health",
    "/",
  ])("answers 404 for %s", async (path) => {
    expect((await bench.call(path)).status).toBe(404);
  });

  it("says which key there is when another one is named", async () => {
    const { body } = await bench.call("/vedette.v1.SentinelRolloutService/other/Rollout");

    expect(body.detail).toContain('"singleton"');
  });

  it.each(["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])("refuses %s with 405", async (method) => {
    const init = method === "GET" ? { method, body: null } : { method };

    const { status, headers } = await bench.call(`${rollout}/Status`, init);

    expect(status).toBe(405);
    expect(headers.get("allow")).toBe("POST");
  });

  it("refuses a body that is no JSON, and one of another type", async () => {
    const broken = await bench.call(`${rollout}/Rollout`, { body: "{image" });
    const typed = await bench.call(`${rollout}/Rollout`, {
      body: "x",
      headers: { "content-type": "text/plain" },
    });

    expect([broken.status, typed.status]).toEqual([400, 415]);
  });

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

  it("cuts off a caller that does not send its body", async () => {
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

  it("cuts off a caller that does not finish its headers", async () => {
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

describe("what the gateway passes on", () => {
  it("passes a call on with its actor, and nothing of the caller's headers", async () => {
    bench = await startBench();
    const body = JSON.stringify({ image });

    await bench.call(`${rollout}/Rollout`, { body, headers: { "x-vedette-actor": "someone" } });

    const [call] = bench.reached;
    expect(call).toMatchObject({ path: `${rollout}/Rollout`, body });
    expect(call?.headers["x-vedette-actor"]).toBe("ingress-token");
    expect(call?.headers.authorization).toBeUndefined();
  });

  it("answers a send with 202 and the invocation", async () => {
    const accepted = { invocationId: "inv_1", status: "Accepted" };
    bench = await startBench([{ status: 202, body: accepted }]);

    const answer = await bench.call(`${rollout}/Rollout/send`, { body: JSON.stringify({ image }) });

    expect(answer).toMatchObject({ status: 202, body: accepted });
    expect(answer.headers.get("x-restate-id")).toBe("inv_1");
  });

  it("passes a refusal on with its status and message, as a problem", async () => {
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

  it("never passes on what a failed handler said", async () => {
    const body = { message: "TypeError at /srv/app/object.ts:12", stacktrace: "at begin (…)" };
    bench = await startBench([{ status: 500, body }]);

    const answer = await bench.call(`${rollout}/Status`);

    expect(answer.status).toBe(500);
    expect(answer.text).not.toMatch(/object\.ts|TypeError|at begin/);
  });

  it("makes a call again under the same key when the way to Restate breaks", async () => {
    bench = await startBench(["reset", "reset"]);

    const { status } = await bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }) });

    const keys = bench.reached.map(({ headers }) => headers["idempotency-key"]);
    expect(status).toBe(200);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it("gives the same key for the same caller's key, and not the key itself", async () => {
    bench = await startBench();
    const headers = { "idempotency-key": "build-42" };

    await bench.call(`${rollout}/Cancel`, { headers });
    await bench.call(`${rollout}/Cancel`, { headers });

    const keys = bench.reached.map(({ headers: sent }) => sent["idempotency-key"]);
    expect(keys[0]).toBe(keys[1]);
    expect(keys[0]).not.toContain("build-42");
  });

  it("lets go of Restate when the caller goes away", async () => {
    bench = await startBench(["hang"]);
    const controller = new AbortController();
    const { signal } = controller;
    const call = bench.call(`${rollout}/Rollout`, { body: JSON.stringify({ image }), signal });
    await expect.poll(() => bench.reached.length).toBe(1);

    controller.abort();

    await expect(call).rejects.toThrow();
    expect(bench.reached).toHaveLength(1);
  });

  it("says that it is there to anyone who asks", async () => {
    bench = await startBench();

    const answer = await fetch(`${bench.url}/healthz`);

    expect(await answer.json()).toEqual({ status: "ok" });
  });
});

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
