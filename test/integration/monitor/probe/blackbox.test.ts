/** The same servers and the same conditions, judged by our checks and by two versions of the blackbox exporter. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import path from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CheckOf } from "#monitor/contract.ts";
import { probeTls } from "#monitor/kinds/tls.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createSelfSigned } from "../../../support/http/self-signed.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { secretsFrom } from "../../../support/monitor/standard-definitions.ts";
import { blackboxProgram, type Module, startBlackbox } from "../../../support/servers/blackbox.ts";
import { type DnsReply, startDnsServer } from "../../../support/servers/dns-server.ts";
import { findNewerTools } from "../../../support/servers/newer-tools.ts";
import { hasPrograms } from "../../../support/servers/programs.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const { programs: newer, missing } = await findNewerTools();
const versions = [
  { version: "installed", programs: "", isThere: hasPrograms(blackboxProgram) },
  { version: `newer ${missing ?? ""}`, programs: newer, isThere: newer !== undefined },
];

/** Enough for a busy machine to answer; what never answers takes as long. */
const limit = { degradedAboveMs: 2_000, failedAboveMs: 2_000 };
const timeout = "2s";
const ipv4 = { preferred_ip_protocol: "ip4" };

const runCheck = createRunCheck({
  probe: createProbe(),
  target: { baseUrl: "http://127.0.0.1:9", readSecret: secretsFrom({}) },
  location: "local",
  nowMs: Date.now,
});

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

async function listenTcp(serve: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return listen(
    createTcp((socket) => {
      sockets.add(socket.on("error", () => {}));
      serve(socket);
    }),
  );
}

/** Writes this text after a request, whatever that is, and ends. */
const raw = (text: string) => (socket: Socket) => socket.once("data", () => socket.end(text));

type HttpCase = {
  serve: RequestListener | { raw: (socket: Socket) => void };
  assertions?: CheckOf<"http">["assertions"];
  conditions?: object;
  isGood: boolean;
};

const status = (...equals: number[]) => ({ source: "status" as const, equals });

const httpCases: Record<string, HttpCase> = {
  "that answers 200": { serve: (_, answer) => answer.end("ok"), isGood: true },
  "that answers 500": { serve: (_, answer) => answer.writeHead(500).end(), isGood: false },
  "that leads elsewhere": {
    serve: (_, answer) => answer.writeHead(302, { location: "/there" }).end(),
    isGood: false,
  },
  "that leads elsewhere, as expected": {
    serve: (_, answer) => answer.writeHead(302, { location: "/there" }).end(),
    assertions: [status(301, 302)],
    conditions: { valid_status_codes: [301, 302] },
    isGood: true,
  },
  "with nothing in its answer": {
    serve: (_, answer) => answer.writeHead(204).end(),
    assertions: [status(200, 204)],
    conditions: { valid_status_codes: [200, 204] },
    isGood: true,
  },
  "with the expected header": {
    serve: (_, answer) => answer.setHeader("X-Version", "v2.1").end(),
    assertions: [status(200), { source: "header", name: "x-version", contains: "v2" }],
    conditions: { fail_if_header_not_matches: [{ header: "X-Version", regexp: "v2" }] },
    isGood: true,
  },
  "without the expected header": {
    serve: (_, answer) => answer.end(),
    assertions: [status(200), { source: "header", name: "x-version", contains: "v2" }],
    conditions: { fail_if_header_not_matches: [{ header: "X-Version", regexp: "v2" }] },
    isGood: false,
  },
  "with the expected value": {
    serve: (_, answer) => answer.end('{"data":{"status":"up"}}'),
    assertions: [status(200), { source: "json", path: "data.status", equals: "up" }],
    conditions: { fail_if_body_not_matches_regexp: ['"status":"up"'] },
    isGood: true,
  },
  "with another value": {
    serve: (_, answer) => answer.end('{"data":{"status":"down"}}'),
    assertions: [status(200), { source: "json", path: "data.status", equals: "up" }],
    conditions: { fail_if_body_not_matches_regexp: ['"status":"up"'] },
    isGood: false,
  },
  "that never answers": { serve: () => {}, isGood: false },
  "that closes": { serve: { raw: (socket) => socket.end() }, isGood: false },
  "that resets": { serve: { raw: (socket) => socket.resetAndDestroy() }, isGood: false },
  "that says no HTTP": { serve: { raw: raw("220 smtp\r\n\r\n") }, isGood: false },
  "that is cut off": {
    serve: { raw: raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") },
    isGood: false,
  },
  "that is cut off in chunks": {
    serve: { raw: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n") },
    isGood: false,
  },
  "that ends with its connection": {
    serve: { raw: raw("HTTP/1.0 200 OK\r\n\r\nwhole") },
    isGood: true,
  },
  "that says to continue first": {
    serve: {
      raw: raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    },
    isGood: true,
  },
};

type TcpCase = {
  serve: (socket: Socket) => void;
  send?: string;
  expects?: string;
  isGood: boolean;
};

const tcpCases: Record<string, TcpCase> = {
  "that says nothing": { serve: () => {}, isGood: true },
  "that closes": { serve: (socket) => socket.end(), isGood: true },
  "that greets": { serve: (socket) => socket.write("220 mail\r\n"), expects: "220", isGood: true },
  "that greets in parts": {
    serve: (socket) => {
      socket.setNoDelay().write("2");
      setTimeout(() => socket.write("20 mail\r\n"), 50);
    },
    expects: "220",
    isGood: true,
  },
  "that greets otherwise": {
    serve: (socket) => socket.end("421 busy\r\n"),
    expects: "220",
    isGood: false,
  },
  "that closes in place of greeting": {
    serve: (socket) => socket.end(),
    expects: "220",
    isGood: false,
  },
  "that never greets": { serve: () => {}, expects: "220", isGood: false },
  "that answers what was sent": {
    serve: (socket) => socket.once("data", () => socket.write("+PONG\r\n")),
    ...{ send: "PING", expects: "PONG" },
    isGood: true,
  },
};

const address = { type: 1, data: Buffer.from([192, 0, 2, 1]) };

const dnsCases: Record<string, { reply: DnsReply | null; isGood: boolean }> = {
  "that has the address": { reply: { records: [address] }, isGood: true },
  "that has another address": {
    reply: { records: [{ type: 1, data: Buffer.from([192, 0, 2, 9]) }] },
    isGood: false,
  },
  "that has no such name": { reply: { code: 3 }, isGood: false },
  "that has no address": { reply: {}, isGood: false },
  "that fails": { reply: { code: 2 }, isGood: false },
  "that refuses": { reply: { code: 5 }, isGood: false },
  "that says garbage": { reply: { raw: Buffer.from("garbage") }, isGood: false },
  "that never answers": { reply: null, isGood: false },
};

describe.each(versions)("beside the blackbox exporter, $version:", ({ programs, isThere }) => {
  const probe = async (module: Module, target: string) => {
    const { probe: ask, stop } = await startBlackbox({ it: { timeout, ...module } }, programs);
    onTestFinished(stop);
    return ask("it", target);
  };

  const expectBoth = async (
    ours: Promise<{ grade: string }>,
    theirs: Promise<Record<string, number>>,
    isGood: boolean,
  ) => {
    const [{ grade }, { probe_success }] = await Promise.all([ours, theirs]);
    expect({ grade, probe_success }).toEqual(
      isGood ? { grade: "ok", probe_success: 1 } : { grade: "failed", probe_success: 0 },
    );
  };

  it.skipIf(!isThere).each(Object.entries(httpCases))("a server of HTTP %s", async (_, one) => {
    const { serve, assertions = [status(200)], conditions = {}, isGood } = one;
    const port = await (typeof serve === "function"
      ? listen(createHttp(serve))
      : listenTcp(serve.raw));
    const url = `http://127.0.0.1:${port}/health`;
    const http = { ...ipv4, follow_redirects: false, valid_status_codes: [200], ...conditions };

    const check = anApiCheck({ method: "GET", path: url, assertions, ...limit });
    await expectBoth(runCheck(check, 0), probe({ prober: "http", http }, url), isGood);
  });

  it.skipIf(!isThere).each(Object.entries(tcpCases))("a server of TCP %s", async (_, one) => {
    const { serve, send = null, expects = null, isGood } = one;
    const port = await listenTcp(serve);
    const { method, path, headers, body, assertions, ...common } = anApiCheck(limit);
    const at = { kind: "tcp", host: "127.0.0.1", port } as const;
    const query_response = [
      ...(send === null ? [] : [{ send }]),
      ...(expects === null ? [] : [{ expect: expects }]),
    ];

    const ours = runCheck({ ...common, ...at, send: send && `${send}\n`, expect: expects }, 0);
    const theirs = probe({ prober: "tcp", tcp: { ...ipv4, query_response } }, `127.0.0.1:${port}`);
    await expectBoth(ours, theirs, isGood);
  });

  it.skipIf(!isThere).each(Object.entries(dnsCases))(
    "a name server %s",
    async (_, { reply, isGood }) => {
      const server = await startDnsServer(() => reply);
      const { method, path, headers, body, assertions, ...common } = anApiCheck(limit);
      const name = "example.com";
      const of = { kind: "dns" as const, domain: name, type: "A" as const, servers: [server] };
      const validate_answer_rrs = { fail_if_none_matches_regexp: [".*\\s192\\.0\\.2\\.1"] };
      const dns = { ...ipv4, query_name: name, query_type: "A", validate_answer_rrs };

      const ours = runCheck({ ...common, ...of, expect: ["192.0.2.1"] }, 0);
      await expectBoth(ours, probe({ prober: "dns", dns }, server), isGood);
    },
  );

  it.skipIf(!isThere).each([
    ["that is trusted", { names: ["localhost"], days: 20.5 }, true],
    ["of another host", { names: ["other.example"], days: 20.5 }, false],
    ["that has expired", { names: ["localhost"], days: -0.01 }, false],
    ["that nobody knows", { names: ["localhost"], days: 20.5, isKnown: false }, false],
  ] as const)("a certificate %s", async (_, { names, days, ...how }, isGood) => {
    const { key, cert } = await createSelfSigned(names, new Date(Date.now() + days * 86_400_000));
    const isKnown = !("isKnown" in how);
    const port = await listen(createTlsServer({ key, cert }));
    const at = { host: "localhost", port, servername: "localhost" };

    const ours = await probeTls(at, { timeoutMs: 2_000, ...(isKnown && { ca: cert }) });
    const ca_file = path.join(tempDir(), "ca.pem");
    writeFileSync(ca_file, cert);
    const tls_config = { server_name: "localhost", ...(isKnown && { ca_file }) };
    const theirs = await probe(
      { prober: "tcp", tcp: { ...ipv4, tls: true, tls_config } },
      `localhost:${port}`,
    );

    expect(ours.outcome.kind).toBe(isGood ? "certificate" : "error");
    expect(theirs["probe_success"]).toBe(Number(isGood));
    const endsAtMs = (theirs["probe_ssl_earliest_cert_expiry"] ?? 0) * 1_000;
    if (isGood) expect(ours.tlsDaysLeft).toBe(Math.floor((endsAtMs - Date.now()) / 86_400_000));
  });
});
