/** Whoever writes checks finds out no secret by letters that an answer is asserted to contain. */
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createReach } from "#kernel/reach.ts";
import { createReadSecret } from "#kernel/secrets.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";

const secret = "s3cret/value";
const accented = "käse-kästchen";

async function listen(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As many servers do: they repeat the id of a request, and the address in the one of https. */
const startServer = () =>
  listen(
    createServer(({ url, headers }, response) => {
      const id = String(headers["x-request-id"] ?? "none");
      const location = `https://shop.example.com${url}`;
      response.writeHead(200, { location, "x-request-id": id, "content-type": "text/plain" });
      response.end(JSON.stringify({ token: "t0ken-of-a-login" }));
    }),
  );

async function run(fields: object) {
  const environment = {
    ...{ VEDETTE_SECRET_KEY_1: secret, VEDETTE_SECRET_KEY_1_HOSTS: "127.0.0.1" },
    ...{ VEDETTE_SECRET_KEY_2: accented, VEDETTE_SECRET_KEY_2_HOSTS: "127.0.0.1" },
  };
  const target = {
    baseUrl: "http://127.0.0.1:1",
    readSecret: createReadSecret({}, "", environment),
  };
  const parts = { probe: createProbe(), reach: createReach(), target, location: "here" };
  const limits = { id: "a", frequencySeconds: 60, degradedAboveMs: 2_000, failedAboveMs: 4_000 };
  const check = { ...limits, ...fields } as unknown as RunnableCheck;
  const { grade, reason } = await createRunCheck({ ...parts, nowMs: Date.now })(check, 0);
  return { grade, reason };
}

const has = (name: string, contains: string) => [{ source: "header", name, contains }];

const request = (path: string, more: object = {}) => ({
  ...{ method: "GET", path, headers: {}, body: null, assertions: [], ...more },
});

type Ask = (at: string, guess: string) => object;

const ofSecret: [what: string, ask: Ask][] = [
  [
    "the id of a request",
    (at, guess) => ({
      kind: "http",
      ...request(`http://${at}/`, {
        headers: { "x-request-id": "{{KEY_1}}" },
        assertions: has("x-request-id", guess),
      }),
    }),
  ],
  [
    "an address that a server repeats",
    (at, guess) => ({
      kind: "http",
      ...request(`http://${at}/?next={{KEY_1}}`, { assertions: has("location", `next=${guess}`) }),
    }),
  ],
  [
    "a later step",
    (at, guess) => ({
      kind: "steps",
      steps: [
        { name: null, extract: {}, ...request(`http://${at}/`) },
        {
          ...{ name: null, extract: {} },
          ...request(`http://${at}/{{KEY_1}}`, { assertions: has("location", `com/${guess}`) }),
        },
      ],
    }),
  ],
  [
    "the text of a connection",
    (at, guess) => {
      const [host = "", port] = at.split(":");
      const send = "GET / HTTP/1.0\r\nX-Request-Id: {{KEY_1}}\r\n\r\n";
      return { kind: "tcp", host, port: Number(port), send, expect: `id: ${guess}` };
    },
  ],
];

it.each(ofSecret)("right and wrong letters in %s are answered alike", async (_what, ask) => {
  const at = await startServer();

  const [right, wrong] = [await run(ask(at, "s3c")), await run(ask(at, "s4c"))];

  expect([right.grade, wrong.grade]).toEqual(["failed", "failed"]);
  expect(right.reason?.replace("s3c", "s4c")).toBe(wrong.reason);
});

it("right and wrong letters at the end of a text that is cut off are answered alike", async () => {
  const echo = createTcpServer((socket) => void socket.on("error", () => {}).pipe(socket));
  const port = Number((await listen(echo)).split(":")[1]);
  const send = `${"x".repeat(4_083)}id: {{KEY_1}}`;
  const ask = (guess: string) => ({ kind: "tcp", host: "127.0.0.1", port, send, expect: guess });

  const grades = [await run(ask("id: s3c")), await run(ask("id: s4c"))].map(({ grade }) => grade);

  expect(grades).toEqual(["failed", "failed"]);
});

it("right letters do not end the reading of a text sooner than wrong ones", async () => {
  const echo = createTcpServer((socket) => void socket.on("error", () => {}).pipe(socket));
  const port = Number((await listen(echo)).split(":")[1]);
  const tcp = { kind: "tcp", host: "127.0.0.1", port, send: "id: {{KEY_1}}", failedAboveMs: 200 };

  const { reason } = await run({ ...tcp, expect: "id: s3c" });

  expect(reason).toBe('answered "id: ***" before it was cut off, expected to contain "id: s3c"');
});

it("a secret that is cut off within a character is hidden", async () => {
  const half = Buffer.from(`id: ${accented}`).subarray(0, "id: käse-kä".length + 1);
  const server = createTcpServer((socket) => void socket.on("error", () => {}).end(half));
  const port = Number((await listen(server)).split(":")[1]);
  const tcp = { kind: "tcp", host: "127.0.0.1", port, expect: "no", send: "{{KEY_2}}" };

  const { reason } = await run(tcp);

  expect(reason).toBe('answered "id: ***", expected to contain "no"');
});

it("an answer of HTTP that ends before the length that it says is no answer", async () => {
  const says = "HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{}";
  const server = createTcpServer((socket) => void socket.on("error", () => {}).end(says));

  const { reason } = await run({ kind: "http", ...request(`http://${await listen(server)}/`) });

  expect(reason).toBe("connection closed before the answer was whole");
});

it("right and wrong letters of what a step has taken are answered alike", async () => {
  const at = await startServer();
  const ask = (guess: string) => ({
    kind: "steps",
    steps: [
      {
        name: null,
        extract: { token: { source: "json", path: "$.token" } },
        ...request(`http://${at}/`),
      },
      {
        ...{ name: null, extract: {} },
        ...request(`http://${at}/?{{token}}`, { assertions: has("location", `?${guess}`) }),
      },
    ],
  });

  const [right, wrong] = [await run(ask("t0k")), await run(ask("t1k"))];

  expect([right.grade, wrong.grade]).toEqual(["failed", "failed"]);
});

it("a whole secret is found where a check expects it", async () => {
  const at = await startServer();
  const [host = "", port] = at.split(":");
  const send = "GET / HTTP/1.0\r\nX-Request-Id: {{KEY_1}}\r\n\r\n";
  const headers = { "x-request-id": "{{KEY_1}}" };
  const assertions = has("x-request-id", secret);

  const grades = [
    await run({ kind: "http", ...request(`http://${at}/`, { headers, assertions }) }),
    await run({ kind: "tcp", host, port: Number(port), send, expect: secret }),
  ].map(({ grade }) => grade);

  expect(grades).toEqual(["ok", "ok"]);
});

it("what else is in such a header or text is asserted as before", async () => {
  const at = await startServer();
  const [host = "", port] = at.split(":");
  const echo = createTcpServer((socket) => void socket.on("error", () => {}).pipe(socket));
  const echoPort = Number((await listen(echo)).split(":")[1]);
  const send = "hello {{KEY_1}}\n";

  const grades = [
    await run({
      kind: "http",
      ...request(`http://${at}/a?next={{KEY_1}}`, {
        assertions: has("location", "https://shop.example.com/a?next="),
      }),
    }),
    await run({ kind: "tcp", host, port: Number(port), send, expect: "HTTP/1.1 400" }),
    await run({ kind: "tcp", host, port: echoPort, send, expect: "hello " }),
  ].map(({ grade }) => grade);

  expect(grades).toEqual(["ok", "ok", "ok"]);
});
