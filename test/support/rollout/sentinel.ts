/** A reference sentinel as a process of its own, between bare connections. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { activateChild, startChild } from "#fleet/drivers/process-child.ts";
import { endProcess, signalProcess } from "#kernel/process.ts";
import { freePort } from "../free-port.ts";
import { tempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

type Over = { upstreamUrl: string; apiUrl?: string; rootKey?: string; trustedProxies?: string[] };

/** Serves until the test ends. A key `good-<n>` is key `key_<n>`, unless `apiUrl` says otherwise. */
export async function startSentinel(over: Over) {
  const { upstreamUrl, apiUrl, rootKey = "root", trustedProxies = [] } = over;
  const publicPort = await freePort();
  const verifier = await startVerifier();
  const { child } = await startChild({
    id: "sentinel-01",
    region: "local",
    image: "r.io/sentinel:v1",
    publicPort,
    apiUrl: apiUrl ?? verifier.url,
    rootKey,
    upstreamUrl,
    trustedProxies,
    readyTimeoutMs: 60_000,
    logFile: path.join(tempDir(), "sentinel.log"),
  });
  onTestFinished(() => endProcess(child, { signal: "SIGKILL", graceMs: 0 }));
  await activateChild(child);
  return {
    url: `http://127.0.0.1:${publicPort}`,
    /** Whose address the API was told, call by call. */
    clients: verifier.clients,
    signal: (signal: NodeJS.Signals) => signalProcess(child, signal),
  };
}

async function startVerifier() {
  const clients: unknown[] = [];
  const url = await serveHttp(async (incoming, outgoing) => {
    clients.push(incoming.headers["x-forwarded-for"]);
    const number = /^good-(\d+)$/.exec(JSON.parse(await bodyOf(incoming)).key)?.[1];
    const data =
      number === undefined
        ? { valid: false, code: "NOT_FOUND" }
        : { valid: true, code: "VALID", keyId: `key_${number}` };
    outgoing.end(JSON.stringify({ meta: { requestId: "req_1" }, data }));
  });
  return { url, clients };
}

type Seen = {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: string;
};

/** An upstream that answers every request with what it was asked, and keeps its connections. */
export async function startEcho() {
  const requests: Seen[] = [];
  const url = await serveHttp(async (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    const seen = { method, url, headers, body: await bodyOf(incoming) };
    requests.push(seen);
    outgoing.end(JSON.stringify(seen));
  });
  return { url, requests };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export async function serveHttp(
  listener: RequestListener,
  prepare: (server: Server) => void = () => {},
): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
    // A caller that goes away amid its body is no fault of the server's.
    Promise.try(() => listener(incoming, outgoing)).catch(() => outgoing.destroy());
  });
  prepare(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An upstream of bytes: `serve` does with each connection what it likes. */
export async function serveBytes(serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    serve(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A bare connection to a server: what came in so far, and whether it is closed. */
export async function dial(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const state = { text: "", isClosed: false };
  socket.setEncoding("latin1");
  socket.on("data", (chunk) => {
    state.text += chunk;
  });
  socket.on("error", () => {});
  socket.once("close", () => {
    state.isClosed = true;
  });
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return {
    state,
    send: (text: string) => socket.write(text, "latin1"),
    end: () => socket.end(),
    destroy: () => socket.destroy(),
    received: (pattern: RegExp) =>
      waitFor(() => pattern.exec(state.text) ?? undefined, {
        withinMs: 10_000,
        what: `${pattern} from the server, which said ${JSON.stringify(state.text)}`,
      }),
    closed: () => waitFor(() => state.isClosed, { withinMs: 10_000, what: "the connection's end" }),
  };
}

/** Sends one request as it stands and answers all that comes back until the server closes. */
export async function exchange(url: string, text: string): Promise<string> {
  const connection = await dial(url);
  connection.send(text);
  await connection.closed();
  return connection.state.text;
}
