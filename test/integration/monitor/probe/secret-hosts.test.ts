/** Runs of checks that would send a secret to a server that is not meant to have it. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer as createTcp } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { catchMisdirected, MisdirectedSecret } from "#kernel/secrets.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { kindOf } from "#monitor/kinds/contract.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { requireMeantSecrets } from "#monitor/probe/secrets.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";

type Answer = (request: IncomingMessage, body: string) => { status?: number; headers?: object };

/** Records all that it gets, and repeats it. */
async function startEcho(answer: Answer = () => ({})) {
  const got: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const { status = 200, headers = {} } = answer(request, body);
    const seen = JSON.stringify({ url: request.url, headers: request.headers, body });
    got.push(seen);
    response.writeHead(status, { ...headers }).end(seen);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { got, port, host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` };
}

async function startBench() {
  const [api, good, evil] = [await startEcho(), await startEcho(), await startEcho()];
  const values = { KEY: "the-user-key", ROOT_KEY: "the-root-key", TOKEN: "the-token" };
  const target = { baseUrl: api.url, readSecret: secretsFrom(values, good.host) };
  const runCheck = createRunCheck({
    ...{ probe: createProbe(), target, location: "local", nowMs: Date.now },
  });
  const toCheck = (fields: object): RunnableCheck => {
    const row = CheckRow.parse({ id: "spy", frequencySeconds: 10, ...fields });
    const { id, name, environment, frequencySeconds, failedRunThreshold } = row;
    const { degradedAboveMs, failedAboveMs } = row;
    const common = { id, name, environment, frequencySeconds, failedRunThreshold, locations: [] };
    return { ...common, degradedAboveMs, failedAboveMs, ...kindOf(row).toCheck(row) };
  };
  return {
    ...{ api, good, evil },
    run: (fields: object) => runCheck(toCheck(fields), Date.now()),
    plan: (fields: object) => {
      const found = catchMisdirected(() => requireMeantSecrets(toCheck(fields), target));
      return found instanceof MisdirectedSecret ? found.message : null;
    },
  };
}
type Bench = Awaited<ReturnType<typeof startBench>>;

const readBody = { source: "json", path: "body" };
const readHeader = { source: "json", path: "headers.token" };

const attacks: [name: string, fields: (bench: Bench) => object, told: RegExp][] = [
  [
    "the root key in a header",
    ({ evil }) => ({ url: evil.url, headers: { authorization: "Bearer {{ROOT_KEY}}" } }),
    /\{\{ROOT_KEY\}\} goes only below monitor\.base_url/,
  ],
  [
    "the root key to a host that a list names",
    ({ good }) => ({ url: good.url, headers: { authorization: "{{ROOT_KEY}}" } }),
    /\{\{ROOT_KEY\}\} goes only below monitor\.base_url/,
  ],
  [
    "a key in a body",
    ({ evil }) => ({ url: evil.url, method: "POST", body: { a: [{ b: "{{KEY}}" }] } }),
    /\{\{KEY\}\} goes only below monitor\.base_url/,
  ],
  [
    "a token in a query",
    ({ evil }) => ({ url: `${evil.url}/?q={{TOKEN}}` }),
    /\{\{TOKEN\}\} may not go to 127\.0\.0\.1:\d+: if/,
  ],
  [
    "a token in a path",
    ({ evil }) => ({ url: `${evil.url}/{{TOKEN}}` }),
    /\{\{TOKEN\}\} may not go to/,
  ],
  [
    "a token as a part of a name",
    () => ({ url: "http://{{TOKEN}}.localhost/" }),
    /\{\{TOKEN\}\} may not go to \{\{TOKEN\}\}\.localhost/,
  ],
  [
    "the root key below a name",
    ({ evil }) => ({ url: `http://{{ROOT_KEY}}.localhost:${evil.port}/` }),
    /\{\{ROOT_KEY\}\} goes only below .* \{\{ROOT_KEY\}\}\.localhost:\d+ is not/,
  ],
  [
    "a token to the right server for a host that is another",
    ({ good }) => ({ url: good.url, headers: { Host: "evil.example", token: "{{TOKEN}}" } }),
    /\{\{TOKEN\}\} may not go to evil\.example/,
  ],
  [
    "a token to a host whose header is made of it",
    ({ good }) => ({ url: good.url, headers: { host: "{{TOKEN}}.example" } }),
    /\{\{TOKEN\}\} may not go to \{\{TOKEN\}\}\.example/,
  ],
  [
    "the root key to our API for a host that is another",
    () => ({ path: "/", headers: { host: "evil.example", token: "{{ROOT_KEY}}" } }),
    /\{\{ROOT_KEY\}\} goes only below/,
  ],
  [
    "a token in what is sent by TCP",
    ({ evil }) => ({ kind: "tcp", host: "127.0.0.1", port: evil.port, send: "{{TOKEN}}\r\n" }),
    /\{\{TOKEN\}\} may not go to 127\.0\.0\.1:\d+/,
  ],
  [
    "the root key by TCP",
    ({ api }) => ({ kind: "tcp", host: "127.0.0.1", port: api.port, send: "{{ROOT_KEY}}\r\n" }),
    /\{\{ROOT_KEY\}\} goes only below/,
  ],
  [
    "a token in a later step",
    ({ good, evil }) => ({
      kind: "steps",
      steps: [{ url: good.url }, { url: evil.url, headers: { token: "{{TOKEN}}" } }],
    }),
    /^step 2: \{\{TOKEN\}\} may not go to/,
  ],
  [
    "a token that an answer repeats",
    ({ good, evil }) => ({
      kind: "steps",
      steps: [
        { url: good.url, headers: { token: "{{TOKEN}}" }, extract: { copy: readHeader } },
        { url: `${evil.url}/{{copy}}` },
      ],
    }),
    /^step 2: \{\{TOKEN\}\} may not go to/,
  ],
  [
    "a token that has passed through two steps",
    ({ good, evil }) => ({
      kind: "steps",
      steps: [
        { url: good.url, headers: { token: "{{TOKEN}}" }, extract: { copy: readHeader } },
        {
          ...{ url: good.url, method: "POST", body: { a: "{{copy}}" } },
          extract: { again: readBody },
        },
        { url: evil.url, method: "POST", body: { a: "{{again}}" } },
      ],
    }),
    /^step 3: \{\{TOKEN\}\} may not go to/,
  ],
  [
    "a token that a server says when it is asked again",
    ({ good, evil }) => ({
      kind: "steps",
      steps: [
        { url: good.url, headers: { token: "{{TOKEN}}" } },
        { url: good.url, extract: { stored: { source: "json", path: "url" } } },
        { url: evil.url, headers: { token: "{{stored}}" } },
      ],
    }),
    /^step 3: \{\{TOKEN\}\} may not go to/,
  ],
  [
    "a key that was made with the root key",
    ({ evil }) => ({
      kind: "steps",
      steps: [
        { path: "/", headers: { token: "{{ROOT_KEY}}" }, extract: { made: readHeader } },
        { url: evil.url, headers: { token: "{{made}}" } },
      ],
    }),
    /^step 2: \{\{ROOT_KEY\}\} goes only below/,
  ],
];

describe.each(attacks)("%s", (_, fieldsOf, told) => {
  it("is not sent, and the reason says why", async () => {
    const bench = await startBench();

    const { grade, reason } = await bench.run(fieldsOf(bench));

    expect({ grade, reason }).toEqual({ grade: "failed", reason: expect.stringMatching(told) });
    expect(bench.evil.got).toEqual([]);
    expect(JSON.stringify([reason])).not.toMatch(/the-(?:root-key|user-key|token)/);
  });

  it("is found before anything is sent", async () => {
    const bench = await startBench();

    const message = bench.plan(fieldsOf(bench));

    const steps = new RegExp(told.source.replace(/^\^step \d: /, ""));
    expect(message).toMatch(steps);
    expect(message).not.toMatch(/the-(?:root-key|user-key|token)/);
    expect([...bench.api.got, ...bench.good.got, ...bench.evil.got]).toEqual([]);
  });
});

const uses: [name: string, fields: (bench: Bench) => object, at: "api" | "good" | "evil"][] = [
  ["the root key by a path", () => ({ path: "/v2", headers: { token: "{{ROOT_KEY}}" } }), "api"],
  ["the root key by a whole address", ({ api }) => ({ url: `${api.url}/?k={{ROOT_KEY}}` }), "api"],
  ["a token to its host", ({ good }) => ({ url: good.url, headers: { a: "{{TOKEN}}" } }), "good"],
  [
    "a token to its host, which the header names, too",
    ({ good }) => ({ url: good.url, headers: { host: good.host, a: "{{TOKEN}}" } }),
    "good",
  ],
  ["nothing secret to anybody", ({ evil }) => ({ url: evil.url }), "evil"],
  [
    "what a step takes from an answer to no secret to anybody",
    ({ good, evil }) => ({
      kind: "steps",
      steps: [
        { url: good.url, extract: { way: { source: "json", path: "url" } } },
        { url: evil.url, headers: { way: "{{way}}" } },
      ],
    }),
    "evil",
  ],
];

it.each(uses)("%s is sent", async (_, fieldsOf, at) => {
  const bench = await startBench();
  const fields = fieldsOf(bench);

  const { grade, reason } = await bench.run(fields);

  expect({ grade, reason, planned: bench.plan(fields) }).toEqual({
    ...{ grade: "ok", reason: null, planned: null },
  });
  expect(bench[at].got).not.toEqual([]);
});

it.each([301, 302, 303, 307, 308])("a redirect (%i) leads no secret elsewhere", async (status) => {
  const evil = await startEcho();
  const api = await startEcho(() => ({ status, headers: { location: `${evil.url}/` } }));
  const target = { baseUrl: api.url, readSecret: secretsFrom({ ROOT_KEY: "the-root-key" }) };
  const run = createRunCheck({
    ...{ probe: createProbe(), target, location: "local", nowMs: Date.now },
  });
  const row = CheckRow.parse({
    ...{ id: "spy", path: "/", method: "POST", body: { a: "{{ROOT_KEY}}" } },
  });

  const result = await run(
    { ...row, locations: [], ...kindOf(row).toCheck(row) } as RunnableCheck,
    Date.now(),
  );

  expect(result).toMatchObject({ grade: "failed", status });
  expect([api.got.length, evil.got]).toEqual([1, []]);
});

it("a list that is changed between two runs holds for the next one", async () => {
  const good = await startEcho();
  const lists = [good.host, "other.example"];
  const run = createRunCheck({
    probe: createProbe(),
    target: {
      baseUrl: "http://127.0.0.1:9",
      readSecret: (name) =>
        name === "TOKEN" ? secretsFrom({ TOKEN: "the-token" }, lists.shift())(name) : undefined,
    },
    location: "local",
    nowMs: Date.now,
  });
  const row = CheckRow.parse({ id: "spy", url: good.url, headers: { a: "{{TOKEN}}" } });
  const check = { ...row, locations: [], ...kindOf(row).toCheck(row) } as RunnableCheck;

  const grades = [(await run(check, 0)).grade, (await run(check, 0)).grade];

  expect({ grades, requests: good.got.length }).toEqual({ grades: ["ok", "failed"], requests: 1 });
});

it("nothing is connected to for a text that may not be sent by TCP", async () => {
  let connections = 0;
  const server = createTcp((socket) => {
    connections += 1;
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const bench = await startBench();
  const { port } = server.address() as AddressInfo;

  await bench.run({ kind: "tcp", host: "127.0.0.1", port, send: "{{TOKEN}}" });

  expect(connections).toBe(0);
});
