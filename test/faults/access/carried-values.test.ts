/** An answer carries a check, a channel, or the secrets in them, neither to our own servers nor to other hosts. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { createReach } from "#kernel/reach.ts";
import { createReadSecret } from "#kernel/secrets.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";

async function listen(server: Server) {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** `reached`: the requests, with their bodies' secrets in the headers. */
async function serve(answer: (request: IncomingMessage) => [status: number, object, string]) {
  const reached: string[] = [];
  const server = createServer((request, response) => {
    reached.push(`${request.url} ${JSON.stringify(request.headers)}`);
    const [status, headers, body] = answer(request);
    response.writeHead(status, headers as Record<string, string>).end(body);
  });
  return { port: await listen(server), reached };
}

async function start({ isOwn = true, allowed = "127.0.0.1" } = {}) {
  let connections = 0;
  const sink = createTcpServer((socket) => {
    connections += 1;
    socket.destroy();
  });
  const own = await listen(sink);
  const other = await serve(() => [200, {}, "{}"]);
  const secrets = { VEDETTE_SECRET_API: "s3cret-value", VEDETTE_SECRET_API_HOSTS: allowed };
  const hostile = await serve(({ url, headers }) => {
    if (url === "/moved") return [307, { location: `http://127.0.0.1:${own}/` }, ""];
    if (url === "/secure") return [308, { location: `https://127.0.0.1:${own}/` }, ""];
    if (url === "/other") return [302, { location: `//127.0.0.1:${other.port}/` }, ""];
    const location = `http://127.0.0.1:${own}/${headers["x-key"] ?? ""}`;
    const ports = { port: own, other: other.port };
    const body = { ...ports, host: "127.0.0.1", echo: headers["x-key"] ?? "none" };
    return [200, { location, "x-echo": String(headers["x-key"]) }, JSON.stringify(body)];
  });
  const readSecret = createReadSecret({}, "", secrets);
  const services = isOwn ? [{ name: "Restate", host: "127.0.0.1", port: own }] : [];
  const reach = createReach({ services });
  return { own, other, hostile, readSecret, reach, connections: () => connections };
}

type Bench = Awaited<ReturnType<typeof start>>;

const step = (path: string, fields: object = {}) => ({
  ...{ name: null, method: "GET", path, headers: {}, body: null, assertions: [], extract: {} },
  ...fields,
});

function run({ hostile, readSecret, reach }: Bench, steps: object[]) {
  const target = { baseUrl: `http://127.0.0.1:${hostile.port}`, readSecret };
  const parts = { probe: createProbe(), reach, target, location: "local", nowMs: Date.now };
  const limits = { frequencySeconds: 60, degradedAboveMs: 2_000, failedAboveMs: 4_000 };
  const check = { id: "a", kind: "steps", ...limits, steps } as unknown as RunnableCheck;
  return createRunCheck(parts)(check, 0);
}

const json = (name: string) => ({ source: "json", path: `$.${name}` });
const asking = (extract: object, fields: object = {}) => step("/", { ...fields, extract });

const toOwn: [what: string, steps: object[]][] = [
  [
    "by the host and the port of an answer",
    [asking({ host: json("host"), port: json("port") }), step("http://{{host}}:{{port}}/")],
  ],
  [
    "by a port",
    [
      asking({ port: json("port") }),
      step("http://[::ffff:127.0.0.1]:{{port}}/", { method: "PUT" }),
    ],
  ],
];

it.each(toOwn)("a check with steps is led to none of our own servers %s", async (_what, steps) => {
  const [bench, open] = [await start(), await start({ isOwn: false })];

  const result = await run(bench, steps);
  await run(open, steps);

  expect([bench.connections(), open.connections()]).toEqual([0, 1]);
  expect(result.reason).toMatch(/^step 2: .*one of Vedette's own services \(Restate\)/);
});

it.each(["/moved", "/secure", "/other"])(
  "a step does not follow the redirect of %s",
  async (at) => {
    const bench = await start({ isOwn: false });

    await run(bench, [step(at), step(at)]);

    expect([bench.connections(), bench.other.reached.length]).toEqual([0, 0]);
  },
);

const echo = { echo: json("echo") };
const leaks: [how: string, extract: object, fields: object][] = [
  [
    "its echo in a header",
    { echo: { source: "header", name: "x-echo" } },
    { headers: { "x-a": "{{echo}}" } },
  ],
  ["its echo in a body", echo, { method: "POST", body: { a: ["{{echo}}"] } }],
  ["any value of its answer", { port: json("port") }, { headers: { "x-a": "{{port}}" } }],
  [
    "its echo for another host",
    echo,
    { headers: { host: "localhost", "x-a": "{{echo}}" }, isThere: true },
  ],
];

it.each(leaks)(
  "a secret that a step has sent goes to no other host by %s",
  async (_how, extract, fields) => {
    const { isThere = false, ...next } = fields as { isThere?: boolean };
    const steps = ({ other, hostile }: Bench) => [
      asking(extract, { headers: { "x-key": "{{API}}" } }),
      step(isThere ? `http://127.0.0.1:${hostile.port}/` : `http://localhost:${other.port}/`, next),
    ];
    const [bench, open] = [await start(), await start({ allowed: "127.0.0.1 localhost" })];

    const result = await run(bench, steps(bench));
    const allowed = await run(open, steps(open));

    expect(bench.hostile.reached.length + bench.other.reached.length).toBe(1);
    expect(open.hostile.reached.length + open.other.reached.length).toBe(2);
    expect([result.grade, allowed.grade]).toEqual(["failed", "ok"]);
    expect(result.reason).toContain("VEDETTE_SECRET_API_HOSTS");
  },
);

const channels = (port: number, path: string) =>
  [
    { id: "a", kind: "webhook", url: `http://127.0.0.1:${port}${path}` },
    { id: "b", kind: "slack", url: `http://127.0.0.1:${port}${path}` },
    { id: "c", kind: "pagerduty", url: `http://127.0.0.1:${port}${path}`, secret: "{{API}}" },
  ] as unknown as DirectChannel[];

it.each(["/moved", "/secure", "/other"])(
  "no channel follows the redirect of %s, nor sends a secret there",
  async (path) => {
    const bench = await start();
    const { readSecret, reach, hostile } = bench;
    const send = createSendToChannel({ readSecret, reach, timeoutMs: 3_000, nowMs: Date.now });

    const outcomes = await Promise.all(
      channels(hostile.port, path).map((channel) => send(channel, buildMessage())),
    );

    expect(outcomes.map(({ kind }) => kind)).not.toContain("accepted");
    expect([hostile.reached.length, bench.connections(), bench.other.reached.length]).toEqual([
      3, 0, 0,
    ]);
    expect(JSON.stringify(outcomes)).not.toMatch(/s3cret|127\.0\.0\.1:/);
  },
);
