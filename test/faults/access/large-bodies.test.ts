/** Bodies that are too large, or that nobody reads: ordinary clients read the answer and no broken connection. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { connect } from "node:net";
import path from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { ApiError } from "#api/error.ts";
import { procedure } from "#api/procedure.ts";
import { createRunnerDoor } from "#monitor/locations/gateway.ts";
import { testServer } from "../../support/api/api-server.ts";
import { startAccessBench } from "../../support/program/access-bench.ts";
import { dial, serveBytes, startSentinel } from "../../support/rollout/sentinel.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { tempDir } from "../../support/temp-dir.ts";

const times = 10;
const body = Buffer.alloc(11 * 1_024 * 1_024, " ");
const json = { "content-type": "application/json" };
const rollout = "/vedette.v1.SentinelRolloutService/singleton/Rollout";

type Target = { url: string; headers: Record<string, string>; status: number };

const door = createRunnerDoor({
  runners: { identify: async () => "elsewhere" },
  readChecks: async () => [],
  whyOff: () => [],
  baseUrl: "",
  report: async () => {},
  nowMs: () => 0,
});

const ask = procedure({
  summary: "Answers.",
  input: z.object({}),
  output: z.object({}),
  example: { body: {}, data: {} },
  handle: () => ({ data: {} }),
});

/** Knows one key. */
const startApi = async () => {
  const caller = { keyId: "k", name: undefined, workspaceId: "w", limitPerMinute: undefined };
  const grants = { allow: () => true, names: () => [] } as never;
  const refused = new ApiError("unkey/authentication/key_not_found", "no such key");
  const api = testServer(
    { test: { ask } },
    {
      authenticate: (header) => {
        if (header !== "Bearer good") throw refused;
        return { ...caller, grants };
      },
    },
  );
  onTestFinished(() => api.close());
  return `${await api.listen({ host: "127.0.0.1", port: 0 })}/v2/test.ask`;
};

/** Each address, called by who may, and by who may not. */
const targets: Record<string, () => Promise<Target>> = {
  control: async () => {
    const { control } = await startAccessBench();
    return { url: `${control}${rollout}`, headers: bearer("shared"), status: 413 };
  },
  "control, without a token": async () => {
    const { control } = await startAccessBench();
    return { url: `${control}${rollout}`, headers: {}, status: 401 };
  },
  "control, for runners": async () => {
    const { control } = await startAccessBench({ doors: [door] });
    return { url: `${control}/runner/report`, headers: bearer("r".repeat(43)), status: 413 };
  },
  "Restate's ingress": async () => {
    const { ingress } = await startAccessBench();
    return { url: `${ingress}${rollout}`, headers: bearer("shared"), status: 413 };
  },
  "Restate's ingress, without a token": async () => {
    const { ingress } = await startAccessBench();
    return { url: `${ingress}${rollout}`, headers: {}, status: 401 };
  },
  "Restate's admin interface": async () => {
    const { admin } = await startAccessBench();
    return { url: `${admin}/query`, headers: bearer("shared"), status: 413 };
  },
  "the public API": async () => ({
    url: await startApi(),
    headers: bearer("good"),
    status: 413,
  }),
  "a sentinel, without a key": async () => {
    const { url } = await startSentinel({ upstreamUrl: "http://127.0.0.1:9" });
    return { url: `${url}/`, headers: {}, status: 401 };
  },
  "a sentinel, whose upstream refuses the body": async () => {
    const upstreamUrl = await serveBytes((socket) => {
      socket.once("data", () => {
        socket.write("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno");
        socket.resume();
      });
    });
    const { url } = await startSentinel({ upstreamUrl });
    return { url: `${url}/`, headers: bearer("good-1"), status: 413 };
  },
};

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

type Send = (target: Target) => Promise<number>;

const byHttp =
  (agent: Agent | false, headers: Record<string, string> = {}): Send =>
  (target) =>
    new Promise((resolve, reject) => {
      const all = { ...json, ...target.headers, ...headers };
      const asked = httpRequest(target.url, { method: "POST", headers: all, agent }, (answer) => {
        text(answer).then(() => resolve(answer.statusCode ?? 0), reject);
      });
      asked.once("error", reject);
      asked.end(body);
    });

const streamed = () => Readable.from([...Array(11)].map((_, at) => body.subarray(0, 1e6 + at)));

const byUndici =
  (makeBody: () => Buffer | Readable): Send =>
  async ({ url, headers }) => {
    const answer = await request(url, {
      method: "POST",
      headers: { ...json, ...headers },
      body: makeBody(),
    });
    await answer.body.text();
    return answer.statusCode;
  };

const byCurl =
  (...how: string[]): Send =>
  async ({ url, headers }) => {
    const file = path.join(tempDir(), "body");
    writeFileSync(file, body);
    const lines = Object.entries({ ...json, ...headers }).flatMap((it) => ["-H", it.join(": ")]);
    const silent = ["-sS", "-o", "/dev/null", "-w", "%{http_code}"];
    const child = spawn("curl", [...silent, ...lines, ...how, "--data-binary", `@${file}`, url]);
    const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
    return child.exitCode === 0 ? Number(stdout) : -(child.exitCode ?? 1);
  };

const clients: Record<string, Send> = {
  "node:http": byHttp(new Agent({ keepAlive: true })),
  "node:http in chunks": byHttp(new Agent({ keepAlive: true }), { "transfer-encoding": "chunked" }),
  "node:http without keep-alive": byHttp(false),
  undici: byUndici(() => body),
  "undici in chunks": byUndici(streamed),
};

const curls: Record<string, Send> = {
  curl: byCurl("-H", "Expect:"),
  "curl that awaits a 100": byCurl("-H", "Expect: 100-continue"),
  "curl in chunks": byCurl("-H", "Transfer-Encoding: chunked"),
};

describe.each(Object.entries(targets))("%s", (_name, start) => {
  it.each(Object.entries({ ...clients, ...(hasPrograms("curl") && curls) }))(
    "sends %s a refusal that it reads, each time",
    async (_client, send) => {
      const target = await start();

      const counts: Record<string, number> = {};
      for (let at = 0; at < times; at += 1) {
        const outcome = await send(target).catch((error: Error) => error.message);
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }

      expect(counts).toEqual({ [target.status]: times });
    },
    300_000,
  );
});

describe("a caller that is refused", () => {
  const head = (...headers: string[]) =>
    [`POST ${rollout} HTTP/1.1`, "Host: 127.0.0.1", ...headers, "", ""].join("\r\n");
  const chunk = `10000\r\n${"x".repeat(65_536)}\r\n`;

  it.each([
    ["a connection that is kept", []],
    ["a connection that is not", ["Connection: close"]],
  ])("on %s may send no more than a bound, at control and Restate", async (_kind, headers) => {
    const { control, ingress, reached } = await startAccessBench();
    for (const address of [control, ingress]) {
      const { hostname, port } = new URL(address);
      const socket = connect(Number(port), hostname);
      socket.on("error", () => {});
      socket.write(head("Transfer-Encoding: chunked", ...headers));
      const answer = once(socket, "data");
      const sending = setInterval(() => {
        while (socket.writable && socket.write(chunk)) if (socket.bytesWritten > 1e9) return;
      }, 1);

      const [first] = await answer;
      // A reset is one way to end it.
      await new Promise((resolve) => socket.once("close", resolve));
      clearInterval(sending);

      expect(String(first)).toMatch(/^HTTP\/1\.1 401 /);
      expect(socket.bytesWritten).toBeLessThan(500_000_000);
    }
    expect(reached).toEqual([]);
  });

  it("may not go on slowly for longer than a bound", async () => {
    const { control } = await startAccessBench();
    const connection = await dial(control);
    const startedMs = performance.now();
    connection.send(head("Content-Length: 5000000"));
    const sending = setInterval(() => connection.send("x"), 50);
    onTestFinished(() => clearInterval(sending));

    await connection.closed();

    expect(connection.state.text).toMatch(/^HTTP\/1\.1 401 /);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it("on a connection that ends makes no call behind the refused one", async () => {
    const { ingress, reached } = await startAccessBench();
    const authorized = "Authorization: Bearer shared";
    const connection = await dial(ingress);
    connection.send(head("Content-Length: 3", "Connection: close"));
    await connection.received(/HTTP\/1\.1 401 /);

    connection.send(`abc${head(authorized, "Content-Length: 2")}{}`);

    await connection.closed();
    expect(connection.state.text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(reached).toEqual([]);
  });

  it("may use its connection again once its body is over", async () => {
    const { control, reached } = await startAccessBench();
    const connection = await dial(control);
    connection.send(head("Content-Length: 3"));
    await connection.received(/HTTP\/1\.1 401 /);

    const second = head(
      "Authorization: Bearer shared",
      "Content-Type: application/json",
      "Content-Length: 47",
    );
    connection.send(
      `abc${second}${JSON.stringify({ image: "registry.example.com/sentinel:v2" }).padEnd(47)}`,
    );

    await connection.received(/HTTP\/1\.1 200 /);
    expect(reached).toHaveLength(1);
  });
});
