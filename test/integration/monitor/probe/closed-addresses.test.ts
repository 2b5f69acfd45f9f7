/** Checks cannot be used to reach our own services, by whatever name; each attack arrives where they are not closed. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectTo, createReach } from "#kernel/reach.ts";
import type { RunnableCheck } from "#monitor/contract.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";

const common = {
  id: "a",
  name: "A",
  environment: "production" as const,
  locations: [],
  frequencySeconds: 60,
  degradedAboveMs: 400,
  failedAboveMs: 500,
  failedRunThreshold: 1,
};
const request = { headers: {}, body: null, assertions: [] };

async function listen(server: Server): Promise<number> {
  server.listen(0);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Stands for Restate: counts what connects, and answers nothing that is sent. */
async function startService() {
  const seen = { connections: 0 };
  const port = await listen(
    createServer((socket) => {
      seen.connections += 1;
      socket.on("error", () => {});
      socket.end();
    }),
  );
  const closed = createReach({ services: [{ name: "Restate", host: "127.0.0.1", port }] });
  return { seen, port, reaches: { open: createReach(), closed } };
}

function run(check: object, reach: ReturnType<typeof createReach>) {
  const target = { baseUrl: "http://127.0.0.1:9", readSecret: () => undefined };
  const parts = { probe: createProbe(), reach, target, location: "local", nowMs: Date.now };
  return createRunCheck(parts)({ ...common, ...check } as unknown as RunnableCheck, 0);
}

const http = (path: string) => ({ kind: "http", method: "POST", path, ...request });
const step = (path: string, extract = {}) => ({
  ...{ name: null, method: "POST", path },
  ...{ ...request, extract },
});
const tls = { kind: "tls", servername: "a", degradedBelowDays: 30, failedBelowDays: 7 };

const own = "one of Vedette's own services (Restate), to which we do not connect";

const kinds: [string, (host: string, port: number) => object][] = [
  ["http", (host, port) => http(`http://${host}:${port}/restate/invocations`)],
  ["https", (host, port) => http(`https://${host}:${port}/`)],
  ["steps", (host, port) => ({ kind: "steps", steps: [step(`http://${host}:${port}/`)] })],
  ["tcp", (host, port) => ({ kind: "tcp", host, port, send: "GET /", expect: "200" })],
  ["tls", (host, port) => ({ ...tls, host, port })],
  ["tls after STARTTLS", (host, port) => ({ ...tls, host, port, starttls: "postgres" })],
];

describe.each(kinds)("a check of %s", (_, checkOf) => {
  it.each(["127.0.0.1", "localhost", "127.3.2.1", "2130706433", "0x7f.0.0.1", "0.0.0.0"])(
    "does not reach a service of ours as %s",
    async (host) => {
      const { seen, port, reaches } = await startService();

      const result = await run(checkOf(host, port), reaches.closed);
      const refused = { ...seen };
      await run(checkOf(host, port), reaches.open);

      expect(result).toMatchObject({ grade: "failed", cause: "error" });
      expect(result.reason).toContain(own);
      expect(result.reason).not.toContain(String(port));
      expect(refused.connections).toBe(0);
      expect(seen.connections).toBe(1);
    },
  );

  it("does not reach a service of ours by an address of this machine's network", async () => {
    const { port, reaches } = await startService();
    const outside = Object.values(networkInterfaces())
      .flatMap((all = []) => all)
      .find(({ internal, family }) => !internal && family === "IPv4")?.address;

    expect((await run(checkOf(outside ?? "127.0.0.1", port), reaches.closed)).reason).toContain(
      own,
    );
  });

  it.each(["169.254.169.254", "2852039166"])(
    "does not connect to the metadata service as %s",
    async (host) => {
      const result = await run(checkOf(host, 80), createReach());

      expect(result.reason).toContain("a link-local or metadata address, to which we do not");
    },
  );
});

it.each(["[::1]", "[::ffff:127.0.0.1]", "[::]"])(
  "a check of HTTP does not reach it as %s",
  async (host) => {
    const { seen, port, reaches } = await startService();

    const result = await run(http(`http://${host}:${port}/`), reaches.closed);

    expect(result.reason).toContain(own);
    expect(seen.connections).toBe(0);
  },
);

it("a server that is watched leads no check of HTTP to a service by a redirect", async () => {
  const { seen, port, reaches } = await startService();
  const location = `http://127.0.0.1:${port}/restate/invocations`;
  const server = createHttp((_, response) => void response.writeHead(307, { location }).end());
  const allowed = await listen(server);

  const result = await run(http(`http://127.0.0.1:${allowed}/`), reaches.closed);

  expect(result.status).toBe(307);
  expect(seen.connections).toBe(0);
});

it("a server that is watched leads no later step to a service by its answer", async () => {
  const { seen, port, reaches } = await startService();
  const allowed = await listen(createHttp((_, response) => response.end('{"at":"127.0.0.1"}')));
  const extract = { at: { source: "json", path: "$.at" } };
  const first = step(`http://127.0.0.1:${allowed}/`, extract);
  const check = { kind: "steps", steps: [first, step(`http://{{at}}:${port}/`)] };

  const result = await run(check, reaches.closed);
  const refused = { ...seen };
  await run(check, reaches.open);

  expect(result.reason).toBe(`step 2: the address is ${own}`);
  expect(refused.connections).toBe(0);
  expect(seen.connections).toBe(1);
});

describe("a check of DNS", () => {
  it("sends nothing to a service of ours", async () => {
    const socket = createSocket("udp4");
    let queries = 0;
    socket.on("message", () => {
      queries += 1;
    });
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    onTestFinished(() => void socket.close());
    const { port } = socket.address();
    const check = { kind: "dns", domain: "a.test", type: "A", servers: [], expect: [] };
    const at = { ...check, servers: [`127.0.0.1:${port}`] };
    const services = [{ name: "Restate", host: "localhost", port }];

    const result = await run(at, createReach({ services }));
    const refused = queries;
    await run(at, createReach());

    expect(result.reason).toBe(`the address is ${own}`);
    expect(refused).toBe(0);
    expect(queries).toBeGreaterThan(0);
  });

  it.each(["169.254.169.253", "169.254.169.253:5353", "[fd00:ec2::253]:53", "fe80::1%eth0"])(
    "sends nothing to %s",
    async (server) => {
      const check = { kind: "dns", domain: "a.test", type: "A", servers: [server], expect: [] };

      const result = await run(check, createReach());

      expect(result.reason).toBe(
        "the address is a link-local or metadata address, to which we do not connect",
      );
    },
  );
});

it("a connection goes to the address that was judged, whatever the name is by then", async () => {
  const { seen, port } = await startService();
  const found = [{ address: "127.0.0.1", family: 4 }];

  const socket = await connectTo(found, port, AbortSignal.timeout(5_000));
  socket.destroy();

  await expect.poll(() => seen.connections).toBe(1);
});
