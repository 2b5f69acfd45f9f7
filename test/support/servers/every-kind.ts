/** A check of every kind but HTTP, with servers that answer as the checks expect until they are told to fail. */
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { ApiCheck } from "#monitor/contract.ts";
import { anApiCheck } from "../monitor/check-builders.ts";
import { startDnsServer } from "./dns-server.ts";

/** Each is run every two seconds. The one of TLS fails always: its server speaks no TLS. */
export async function startEveryKind() {
  const state = { isWell: true };
  const servers = [
    await startDnsServer(() => (state.isWell ? { records: [address] } : { code: 2 })),
  ];
  const tcpPort = await listen(
    createTcp((socket) => {
      socket.on("error", () => {});
      socket.on("data", () => socket.end(state.isWell ? "+PONG" : "-ERR"));
    }),
  );
  const url = `http://127.0.0.1:${await listen(
    createHttp((incoming, outgoing) => {
      const isAsked = incoming.headers.authorization === "Bearer token-123456";
      if (incoming.url === "/login") outgoing.end('{"data":{"token":"token-123456"}}');
      else outgoing.writeHead(state.isWell && isAsked ? 200 : 503).end();
    }),
  )}`;
  const {
    method: _,
    path,
    headers,
    body,
    assertions,
    ...all
  } = anApiCheck({ frequencySeconds: 2 });
  // As slow as may be: the machine that runs the tests may be busy.
  const common = { ...all, degradedAboveMs: 1_500, failedAboveMs: 1_500 };
  const request = { method: "GET", body, assertions } as const;
  const token = { token: { source: "json", path: "data.token" } } as const;
  const login = { ...request, name: null, path: `${url}/login`, headers, extract: token };
  const authorization = "Bearer {{token}}";
  const orders = {
    ...request,
    name: null,
    path: `${url}/orders`,
    headers: { authorization },
    extract: {},
  };
  const tls = { host: "127.0.0.1", port: tcpPort, servername: "a.example" };
  const checks: ApiCheck[] = [
    {
      ...{ ...common, id: "of-tcp", kind: "tcp" },
      ...{ host: "127.0.0.1", port: tcpPort, send: "PING\r\n", expect: "+PONG" },
    },
    {
      ...{ ...common, id: "of-dns", kind: "dns" },
      ...{ domain: "example.com", type: "A" as const, servers, expect: ["192.0.2.1"] },
    },
    { ...common, ...tls, id: "of-tls", kind: "tls", degradedBelowDays: 30, failedBelowDays: 7 },
    { ...common, id: "of-steps", kind: "steps", steps: [login, orders] },
  ];
  return {
    checks,
    fail: () => {
      state.isWell = false;
    },
    recover: () => {
      state.isWell = true;
    },
  };
}

const address = { type: 1, data: Buffer.from([192, 0, 2, 1]) };

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
