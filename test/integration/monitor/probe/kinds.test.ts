/** Checks of other kinds than HTTP, against servers that do all that servers do wrong. */

import { once } from "node:events";
import { createServer as createHttp, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CheckOf } from "#monitor/contract.ts";
import type { Assertion } from "#monitor/kinds/assertions.ts";
import { probeTls } from "#monitor/kinds/tls.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";
import { type DnsReply, startDnsServer, wireName } from "../../../support/servers/dns-server.ts";

const dayMs = 86_400_000;

const common = {
  id: "a",
  name: "A",
  environment: "production" as const,
  locations: [],
  frequencySeconds: 60,
  degradedAboveMs: 10_000,
  failedAboveMs: 15_000,
  failedRunThreshold: 1,
};

/** For what never ends: an attempt takes a second at most. */
const hasty = { degradedAboveMs: 400, failedAboveMs: 500 };

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const runCheck = createRunCheck({
  probe: createProbe(),
  target: {
    baseUrl: "http://127.0.0.1:9",
    readSecret: secretsFrom({ PASSWORD: "s3cret-word" }, "127.0.0.1"),
  },
  location: "local",
  nowMs: Date.now,
});

describe("a check of TCP", () => {
  const run = async (serve: (socket: Socket) => void, changes: Partial<CheckOf<"tcp">> = {}) => {
    const sockets = new Set<Socket>();
    const port = await listen(
      createTcp((socket) => {
        sockets.add(socket.on("error", () => {}));
        serve(socket);
      }),
    );
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    const check = { ...common, kind: "tcp", host: "127.0.0.1", port, send: null } as const;
    return runCheck({ ...check, expect: null, ...changes }, 0);
  };

  it("is ok when it connects", async () => {
    const result = await run(() => {});

    expect(result).toMatchObject({ grade: "ok", status: null, tlsDaysLeft: null });
    expect(result.phases.connect).toBeGreaterThan(0);
  });

  it("is ok when the answer has the text, with the secret filled in", async () => {
    const result = await run((socket) => socket.once("data", (text) => socket.write(`+${text}`)), {
      send: "AUTH {{PASSWORD}}\r\n",
      expect: "s3cret-word",
    });

    expect(result.grade).toBe("ok");
    expect(result.phases.firstByte).toBeGreaterThanOrEqual(0);
  });

  it.each<[string, (socket: Socket) => void, string]>([
    ["never answers", () => {}, "no whole answer within 1 s"],
    ["resets", (socket) => socket.resetAndDestroy(), "connection reset"],
    ["closes", (socket) => socket.end(), 'answered nothing, expected to contain "OK"'],
    ["says another", (socket) => socket.end("NO"), 'answered "NO", expected to contain "OK"'],
    [
      "begins",
      (socket) => socket.write("22"),
      'answered "22" before it was cut off, expected to contain "OK"',
    ],
  ])("fails when the server %s", async (_, serve, reason) => {
    const result = await run(serve, { expect: "OK", ...hasty });

    expect(result).toMatchObject({ grade: "failed", reason });
  });

  it("reads no more than 4 KB of an endless answer", async () => {
    const result = await run(
      (socket) => {
        const write = () => {
          while (!socket.destroyed && socket.write("x".repeat(1_000)));
        };
        socket.on("drain", write);
        write();
      },
      { expect: "OK", ...hasty },
    );

    expect(result.reason).toMatch(/^answered "x{78}… in its first 4 KB, expected to contain "OK"$/);
    expect(result.durationMs).toBeLessThan(500);
  });

  it("quotes no marks that turn the text around", async () => {
    const result = await run((socket) => socket.end("\u202egood"), { expect: "OK" });

    expect(result.reason).toBe('answered " good", expected to contain "OK"');
  });

  it.each([null, "OK"])("leaves no connection open when it expects %s", async (expected) => {
    const closed = Promise.withResolvers<void>();

    await run((socket) => socket.on("close", () => closed.resolve()).resume(), {
      ...{ expect: expected, ...hasty },
    });

    await expect(closed.promise).resolves.toBeUndefined();
  });

  it("hides the secret that the server says", async () => {
    const result = await run((socket) => socket.once("data", (text) => socket.end(text)), {
      send: "{{PASSWORD}}",
      expect: "OK",
    });

    expect(result.reason).toBe('answered "***", expected to contain "OK"');
  });
});

describe("a check of DNS", () => {
  const run = async (answer: () => DnsReply | null, changes: Partial<CheckOf<"dns">> = {}) => {
    const servers = [await startDnsServer(answer)];
    const check = { ...common, kind: "dns", domain: "example.com", type: "A", servers } as const;
    return runCheck({ ...check, expect: [], ...changes }, 0);
  };
  const address = { type: 1, data: Buffer.from([192, 0, 2, 1]) };

  it("is ok when the value is among the answers", async () => {
    const result = await run(() => ({ records: [address] }), { expect: ["192.0.2.1"] });

    expect(result).toMatchObject({ grade: "ok", status: null });
    expect(result.phases.dns).toBeGreaterThan(0);
  });

  it("compares names without case and the last dot, with what stands before them", async () => {
    const data = Buffer.concat([Buffer.from([0, 10]), wireName("Mail.example.com")]);

    const result = await run(() => ({ records: [{ type: 15, data }] }), {
      type: "MX",
      expect: ["10 mail.example.com."],
    });

    expect(result.grade).toBe("ok");
  });

  it.each<[string, DnsReply | null, RegExp]>([
    ["has another value", { records: [address] }, /^A is "192.0.2.1", expected "192.0.2.9" among/],
    ["has no such name", { code: 3 }, /^no such name$/],
    ["has no records", {}, /^the name has no records of type A$/],
    ["asks and answers itself of another name", { question: "other.example" }, /^no answer of a/],
    ["fails", { code: 2 }, /SERVFAIL/],
    ["refuses", { code: 5 }, /refused the query$/],
    ["says garbage", { raw: Buffer.from("garbage") }, /^(?:no answer of a name server|the answer)/],
    ["never answers", null, /^no answer of a name server/],
  ])("fails when the server %s", async (_, reply, reason) => {
    const result = await run(() => reply, { expect: ["192.0.2.9"], ...hasty });

    expect(result.grade).toBe("failed");
    expect(result.reason).toMatch(reason);
    expect(result.durationMs).toBeLessThan(1_500);
  });
});

describe("a check of DNS for other records than the server has", () => {
  it.each(["AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SRV", "TXT"] as const)(
    "fails for %s",
    async (type) => {
      const records = [{ type: 1, data: Buffer.from([192, 0, 2, 1]) }];
      const servers = [await startDnsServer(() => ({ records }))];
      const check = { ...common, kind: "dns", domain: "example.com", type } as const;

      const { reason } = await runCheck({ ...check, servers, expect: [] }, 0);

      expect(reason).toBe(`the name has no records of type ${type}`);
    },
  );
});

describe("a check of TLS", () => {
  const run = async (days: number, { names = ["localhost"], isTrusted = true } = {}) => {
    const { key, cert } = await createSelfSigned(names, new Date(Date.now() + days * dayMs));
    const port = await listen(createTlsServer({ key, cert }));
    const at = { host: "localhost", port, servername: "localhost" };
    return probeTls(at, { timeoutMs: 2_000, ...(isTrusted && { ca: cert }) });
  };

  it("tells the days of a trusted certificate", async () => {
    expect(await run(20.5)).toMatchObject({ outcome: { kind: "certificate" }, tlsDaysLeft: 20 });
  });

  it.each([
    [{ isTrusted: false }, /self-signed/],
    [{ names: ["other.example"] }, /of another host/],
  ])("says why one is not trusted: %j", async (how, reason) => {
    const { outcome } = await run(20.5, how);

    expect(outcome).toMatchObject({ kind: "error", reason: expect.stringMatching(reason) });
  });

  it.each([
    ["9999-12-31T23:59:59Z", { kind: "certificate" }, expect.toSatisfy((days) => days > 2_000_000)],
    ["1950-01-01T00:00:00Z", { reason: expect.stringMatching(/expired/) }, expect.any(Number)],
  ])("takes a certificate that ends at %s", async (endsAt, outcome, days) => {
    const { key, cert } = await createSelfSigned(["localhost"], new Date(endsAt));
    const port = await listen(createTlsServer({ key, cert }));

    const at = { host: "localhost", port, servername: "localhost" };
    const seen = await probeTls(at, { timeoutMs: 2_000, ca: cert });

    expect(seen).toMatchObject({ outcome, tlsDaysLeft: days });
  });

  it("ends when the server hangs in the handshake", async () => {
    const closed = Promise.withResolvers<void>();
    const port = await listen(
      createTcp((socket) => socket.on("close", () => closed.resolve()).resume()),
    );

    const at = { host: "127.0.0.1", port, servername: "localhost" };
    const { outcome } = await probeTls(at, { timeoutMs: 300 });

    const reason = "no connection within 300 ms";
    expect(outcome).toEqual({ kind: "error", reason, isUnreached: true });
    await expect(closed.promise).resolves.toBeUndefined();
  });
});

describe("a check with steps", () => {
  const usual: Assertion[] = [{ source: "status", equals: 200 }];
  const run = async (
    answer: RequestListener,
    changes: object = {},
    { assertions = usual, limits = {} } = {},
  ) => {
    const server = createHttp(answer);
    onTestFinished(() => server.closeAllConnections());
    const url = `http://127.0.0.1:${await listen(server)}`;
    const step = { name: null, method: "GET", headers: {}, body: null, extract: {} } as const;
    const id = { order_id: { source: "json" as const, path: "data.id" } };
    const steps = [
      { ...step, path: `${url}/orders`, method: "POST" as const, assertions, extract: id },
      { ...step, name: "pay", path: `${url}/orders/{{order_id}}`, assertions, ...changes },
    ];
    return runCheck({ ...common, kind: "steps", steps, ...limits }, 0);
  };

  it("uses what a step took in the address, a header and the body of the next", async () => {
    const seen: unknown[] = [];

    const result = await run(
      async (incoming, outgoing) => {
        const body = await new Response(incoming as unknown as ReadableStream).text();
        seen.push([incoming.url, incoming.headers["x-id"], body]);
        outgoing.end('{"data":{"id":"a/\\"b"}}');
      },
      { method: "PUT", headers: { "x-id": "{{order_id}}" }, body: { id: "{{order_id}}" } },
    );

    expect(result).toMatchObject({ grade: "ok", status: 200 });
    expect(seen[1]).toEqual(["/orders/a%2F%22b", 'a/"b', '{"id":"a/\\"b"}']);
  });

  it("names the step that fails, and hides what was taken", async () => {
    const result = await run(
      (_, outgoing) =>
        outgoing.setHeader("x", "token-123456").end('{"data":{"id":"token-123456"}}'),
      { assertions: [{ source: "header", name: "x", contains: "good" }] },
    );

    expect(result).toMatchObject({
      ...{ grade: "failed", cause: "assertion", status: 200 },
      reason: 'step 2 (pay): header x is "***", expected to contain "good"',
    });
  });

  it("hides what the step that fails would have taken", async () => {
    const result = await run(
      (_, outgoing) => void outgoing.writeHead(500).end('{"data":{"id":"token-123456"}}'),
      {},
      { assertions: [{ source: "json", path: "data.id", equals: "x" }] },
    );

    expect(result.reason).toBe('step 1: data.id is "***", expected "x"');
  });

  it.each([".", ".."])("makes no request to an address with a part %s", async (id) => {
    const seen: unknown[] = [];

    const result = await run((incoming, outgoing) => {
      seen.push(incoming.url);
      outgoing.end(JSON.stringify({ data: { id } }));
    });

    expect(result.reason).toBe("step 2 (pay): the address would have a part that is only dots");
    expect(seen).toEqual(["/orders"]);
  });

  it.each([
    ["{}", "step 1: order_id is not there: data.id is absent"],
    ['{"data":{"id":[1]}}', /^step 1: .* is not a text, number, true or false$/],
    [`{"data":{"id":"${"x".repeat(5_000)}"}}`, /is longer than 4096 characters$/],
    ['{"data":{"id":"a\\r\\nb: c"}}', /^step 2 \(pay\): the header x-id would have characters/],
  ])("says what is wrong with the value of %s", async (body, reason) => {
    const headers = { "x-id": "{{order_id}}" };

    const result = await run((_, outgoing) => outgoing.end(body), { headers });

    expect(result.reason).toMatch(reason);
  });

  it("has one limit over all steps", async () => {
    const answer: RequestListener = (_, outgoing) =>
      void setTimeout(() => outgoing.end('{"data":{"id":1}}'), 700);

    const result = await run(answer, {}, { limits: hasty });

    expect(result.reason).toBe("step 2 (pay): no whole answer within 1 s");
    expect(result.durationMs).toBeLessThan(1_400);
  });
});
