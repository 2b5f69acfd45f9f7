/** The public API served by several threads of one process. */
import { once } from "node:events";
import { Agent, request } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

const threads = 3;

let program: Program;

beforeAll(async () => {
  program = await startProgram({
    VEDETTE_API__THREADS: String(threads),
    VEDETTE_API__LOG_REQUESTS: "true",
    VEDETTE_ANALYTICS__ENABLED: "true",
    VEDETTE_ROOT_KEY: rootKey,
    VEDETTE_LOG__FORMAT: "json",
  });
  await allServe();
});

afterAll(() => program?.dispose());

const rootKey = "root-key-of-threads";

function allServe() {
  return waitFor(() => program.output().includes("further threads serve the public API"), {
    withinMs: 30_000,
    what: "all threads to serve",
  });
}

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes
type Answer = { status: number; body: any };

/** One connection that is kept, and so one thread. */
function connect() {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const call = async (procedure: string, body: unknown): Promise<Answer> => {
    const sent = request(`${program.endpoints().api}/v2/${procedure}`, {
      agent,
      method: "POST",
      headers: { authorization: `Bearer ${rootKey}`, "content-type": "application/json" },
    });
    sent.end(JSON.stringify(body));
    const [response] = await once(sent, "response");
    const text = (await response.toArray()).join("");
    return { status: response.statusCode, body: JSON.parse(text) };
  };
  return { call, close: () => agent.destroy() };
}

type Connection = ReturnType<typeof connect>;

/** The threads that have answered, by the lines of their requests; the main one's have no number. */
function threadsThatAnswered(requestIds: readonly string[]): Set<unknown> {
  const lines = program
    .output()
    .split("\n")
    .filter((line) => line.includes("request answered"));
  const answered = lines.map((line) => JSON.parse(line));
  const ours = answered.filter(({ requestId }) => requestIds.includes(requestId));
  return new Set(ours.map(({ thread }) => thread ?? 1));
}

/** So many connections that each thread has some of them. */
async function connectToAll(): Promise<Connection[]> {
  const connections: Connection[] = [];
  const requestIds: string[] = [];
  await waitFor(
    async () => {
      const connection = connect();
      connections.push(connection);
      const { body } = await connection.call("apis.getApi", { apiId: "api_none" });
      requestIds.push(body.meta.requestId);
      await nextTurn();
      return threadsThatAnswered(requestIds).size === threads && connections.length >= 12;
    },
    { withinMs: 20_000, what: "connections to all threads" },
  );
  return connections;
}

async function createKey({ call }: Connection, fields: object = {}) {
  const api = (await call("apis.createApi", { name: "payments" })).body.data;
  return (await call("keys.createKey", { apiId: api.apiId, ...fields })).body.data;
}

const codeOf = ({ body }: Answer) => body.data.code;

it("obeys a change at once, whichever thread made it", async () => {
  const connections = await connectToAll();
  const verifyAll = (key: string) =>
    Promise.all(connections.map(async ({ call }) => codeOf(await call("keys.verifyKey", { key }))));

  for (const connection of connections) {
    const { keyId, key } = await createKey(connection);
    expect(new Set(await verifyAll(key))).toEqual(new Set(["VALID"]));

    const changed = await connection.call("keys.updateKey", { keyId, enabled: false });

    expect(changed.status).toBe(200);
    expect(new Set(await verifyAll(key))).toEqual(new Set(["DISABLED"]));
  }
  for (const { close } of connections) close();
});

it("counts a limit exactly over all threads", async () => {
  const connections = await connectToAll();
  const input = { namespace: "emails", identifier: "everyone", limit: 100, duration: 3_600_000 };

  const answers = await Promise.all(
    connections.flatMap(({ call }) =>
      Array.from({ length: 20 }, () => call("ratelimit.limit", input)),
    ),
  );

  expect(answers.length).toBeGreaterThan(200);
  expect(answers.filter(({ body }) => body.data.success)).toHaveLength(100);
  const left = await connections[0]?.call("ratelimit.limit", { ...input, cost: 0 });
  expect(left?.body.data.remaining).toBe(0);
  for (const { close } of connections) close();
});

async function metric(pattern: RegExp): Promise<number> {
  const text = await (await fetch(`${program.endpoints().metrics}/metrics`)).text();
  return Number(pattern.exec(text)?.[1] ?? Number.NaN);
}

it("shows the sum of all threads in its metrics, and how busy each is", async () => {
  const connections = await connectToAll();
  const requests = /^vedette_api_requests_total\{procedure="liveness",status="200"\} (\d+)$/m;
  const before = (await metric(requests)) || 0;
  const url = `${program.endpoints().api}/v2/liveness`;

  for (const _ of connections) {
    await fetch(url, { headers: { connection: "close" } });
  }

  await waitFor(async () => (await metric(requests)) === before + connections.length, {
    withinMs: 5_000,
    what: "all requests to be counted",
  });
  for (let thread = 1; thread <= threads; thread += 1) {
    const busy = new RegExp(
      `^vedette_api_thread_busy_seconds_total\\{thread="${thread}"\\} ([\\d.]+)`,
      "m",
    );
    expect(await metric(busy)).toBeGreaterThan(0);
  }
  for (const { close } of connections) close();
});

it("records what each thread has answered, also when the process is killed right after", async () => {
  const connections = await connectToAll();
  const { key } = await createKey(connections[0] as Connection);
  for (const { call } of connections) await call("keys.verifyKey", { key, tags: ["recorded"] });

  program.kill9("main");
  await program.start();
  await allServe();

  const connection = connect();
  const query = "SELECT COUNT(*) AS count FROM key_verifications_v1 WHERE has(tags, 'recorded')";
  await waitFor(
    async () => {
      const { status, body } = await connection.call("analytics.getVerifications", { query });
      return status === 200 && Number(body.data[0].count) === connections.length;
    },
    { withinMs: 30_000, what: "all verifications to be recorded" },
  );
  connection.close();
  for (const { close } of connections) close();
});
