/**
 * Answers the usual requests of the most frequent procedures before they reach Node's HTTP server and Fastify, which take
 * more time for one than the procedure does. Each connection begins here. With the first byte that is not such a request it
 * goes to Node's server, with all that was received and not answered, for ever.
 */
import { type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Headers, WireAnswer } from "#api/http/answering.ts";
import { newId } from "#api/ids.ts";
import { callerGone } from "#api/metrics.ts";
import {
  type AddressOf,
  createAddressOf,
  type FastRequest,
  type FastRoute,
  type FastRoutes,
  type Head,
  readRequest,
  type TrustProxy,
} from "./request.ts";

/** A connection in the lane: one request at a time. */
type ConnectionParts = {
  server: Server;
  /** Limit of a connection's idle time. */
  idleTimeoutMs: number;
  routes: FastRoutes;
  receiveTimeoutMs: number;
  addressOf: AddressOf;
  toHttp: (answer: WireAnswer) => string;
  /** True while the lane takes requests. */
  isOpen: () => boolean;
  /** Gives the connection to Node's server. */
  connect: (socket: Socket) => void;
  /** Called once the connection has ended, or was given away. */
  leave: (connection: FastConnection) => void;
};

/** A request whose answer is not sent yet, or a part of one. */
type StartedRequest = { count: FastRoute["count"]; startedAtMs: number };

/** A caller that takes longer than that for the rest of a request is left to Node's server, whose time limit begins then. */
const restWithinMs = 1_000;

/** Sent by some after a body. Node's server, given nothing else, would wait ten seconds and answer 408. */
const isLineEnds = (bytes: Buffer) => bytes.every((byte) => byte === 0x0d || byte === 0x0a);

/** A longer head is read each time. */
const rememberedLength = 1_024;

class FastConnection {
  readonly #socket: Socket;
  readonly #parts: ConnectionParts;
  /** The head of the last request: those of a connection are nearly all the same. */
  #known: Head | undefined;
  /** Received and not answered: the beginning of a request, or what came while one was answered. */
  #received: Buffer | undefined;
  /** A request that has arrived in part. */
  #awaited: StartedRequest | undefined;
  #answering: StartedRequest | undefined;
  #hasServed = false;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket;
    this.#parts = parts;
    socket.setTimeout(parts.receiveTimeoutMs);
    socket.on("data", this.#take);
    socket.on("end", this.#end);
    socket.on("timeout", this.#timeOut);
    socket.on("error", this.#fail);
    socket.on("close", this.#leave);
  }

  /** Closes an idle connection, but not a new one: its first request may be in flight and would not be retried. */
  closeIfIdle(): void {
    const isAnswered = this.#answering === undefined && this.#socket.writableLength === 0;
    const isBusy = !isAnswered || this.#received !== undefined;
    if (this.#hasServed && !isBusy) this.close();
  }

  close(): void {
    this.#socket.destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    const before = this.#received;
    if (this.#hasServed && before === undefined && isLineEnds(chunk)) return;
    const bytes = before === undefined ? chunk : Buffer.concat([before, chunk]);
    if (this.#answering !== undefined) {
      this.#hold(bytes);
      return;
    }
    const found = this.#mayRead() ? readRequest(bytes, this.#known) : undefined;
    const route = found && this.#parts.routes.get(found.head.path);
    if (found === undefined || route === undefined) this.#giveAway(bytes);
    else if ("body" in found) this.#start(found, route);
    // A body that comes in more than two pieces is left to who limits the time of the whole.
    else if (before === undefined) this.#await(bytes, route);
    else this.#giveAway(bytes);
  };

  /** The rest of a request. */
  #await(bytes: Buffer, { count }: FastRoute): void {
    this.#received = bytes;
    this.#awaited = { count, startedAtMs: performance.now() };
    this.#socket.setTimeout(restWithinMs);
  }

  /** False for a caller that does not read its answers. */
  #mayRead(): boolean {
    return this.#parts.isOpen() && this.#socket.writableLength === 0;
  }

  /** Holds the bytes until the request before has its answer. */
  #hold(bytes: Buffer): void {
    this.#received = bytes;
    this.#socket.pause();
  }

  #start({ head, body, rest }: FastRequest, route: FastRoute): void {
    const socket = this.#socket;
    const { addressOf, idleTimeoutMs } = this.#parts;
    if (!this.#hasServed || this.#received !== undefined) socket.setTimeout(idleTimeoutMs);
    this.#hasServed = true;
    this.#received = undefined;
    if (rest !== undefined && !isLineEnds(rest)) this.#hold(rest);
    this.#known = head.text.length <= rememberedLength ? head : undefined;
    this.#answering = this.#awaited ?? { count: route.count, startedAtMs: performance.now() };
    this.#awaited = undefined;
    const { headers } = head;
    const request = { id: newId("request"), body, headers, ip: addressOf(socket, headers), socket };
    route.start(request, this.#answer);
  }

  readonly #answer = (answer: WireAnswer): void => {
    const socket = this.#socket;
    const answering = this.#answering;
    // Otherwise it is counted when the connection has closed.
    if (answering === undefined || !socket.writable) return;
    this.#answering = undefined;
    socket.write(this.#parts.toHttp(answer), (error) =>
      countAnswer(answering, error ? callerGone : answer.status),
    );
    const held = this.#received;
    if (held !== undefined) this.#giveAway(held);
  };

  /** Hands the connection to Node's server, the received bytes first. */
  #giveAway(bytes: Buffer): void {
    const socket = this.#socket;
    // Whoever has it now counts it.
    this.#awaited = undefined;
    this.#stopListening();
    socket.setTimeout(0);
    socket.pause();
    socket.unshift(bytes);
    this.#parts.connect(socket);
    // Only then do the bytes flow: before Node's server has resumed the connection, a pause by a full body would be undone.
    process.nextTick(() => socket.resume());
  }

  #stopListening(): void {
    const socket = this.#socket;
    socket.off("data", this.#take);
    socket.off("end", this.#end);
    socket.off("timeout", this.#timeOut);
    socket.off("error", this.#fail);
    socket.off("close", this.#leave);
    this.#leave();
  }

  readonly #leave = (): void => {
    const begun = this.#answering ?? this.#awaited;
    if (begun !== undefined) countAnswer(begun, callerGone);
    this.#answering = undefined;
    this.#awaited = undefined;
    this.#parts.leave(this);
  };

  /** Does what Node's server does when no more can come. */
  readonly #end = (): void => {
    if (this.#received !== undefined && this.#answering === undefined)
      this.#refuse("HPE_INVALID_EOF_STATE");
    else this.#socket.end();
  };

  readonly #timeOut = (): void => {
    // Its answer has a deadline before this; then nobody reads it.
    if (this.#answering !== undefined) this.close();
    else if (this.#received !== undefined) this.#giveAway(this.#received);
    else if (this.#hasServed) this.close();
    else this.#refuse("ERR_HTTP_REQUEST_TIMEOUT");
  };

  /** Refuses with the code of the error that Node's server would have found. */
  #refuse(code: string): void {
    const { server } = this.#parts;
    const socket = this.#socket;
    this.#received = undefined;
    // Bytes that come after it are read, and are no request.
    socket.off("data", this.#take);
    socket.resume();
    server.emit("clientError", Object.assign(new Error("not received"), { code }), socket);
  }

  readonly #fail = (): void => this.close();
}

function countAnswer({ count, startedAtMs }: StartedRequest, status: number): void {
  count?.(status, (performance.now() - startedAtMs) / 1_000);
}

type FastLaneParts = {
  routes: FastRoutes;
  trustProxy: TrustProxy;
  isLeaving: () => boolean;
  receiveTimeoutMs: number;
};

/** Node's server too waits a little longer than it says. */
const graceMs = 1_000;

/** Must be called before the app listens. */
export function openFastLane(app: FastifyInstance, parts: FastLaneParts): void {
  const { server } = app;
  const [connect] = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
  if (connect === undefined) throw new Error("the HTTP server takes no connections");
  let isClosing = false;
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  const connections = new Set<FastConnection>();
  const shared = {
    server,
    idleTimeoutMs: Math.min(server.keepAliveTimeout + graceMs, server.timeout),
    routes: parts.routes,
    receiveTimeoutMs: parts.receiveTimeoutMs,
    addressOf: createAddressOf(parts.trustProxy),
    toHttp: createToHttp(server.keepAliveTimeout),
    isOpen: () => !isClosing && !parts.isLeaving(),
    connect: (socket: Socket) => connect.call(server, socket),
    leave: (connection: FastConnection) => void connections.delete(connection),
  };
  server.removeListener("connection", connect);
  server.on("connection", (socket) => void connections.add(new FastConnection(socket, shared)));
  closeWith(server, connections);
}

/** The server does not know connections that it was not given yet. */
function closeWith(server: Server, connections: ReadonlySet<FastConnection>): void {
  const { closeIdleConnections, closeAllConnections } = server;
  server.closeIdleConnections = () => {
    closeIdleConnections.call(server);
    for (const connection of connections) connection.closeIfIdle();
  };
  server.closeAllConnections = () => {
    closeAllConnections.call(server);
    for (const connection of connections) connection.close();
  };
}

/** `keepAliveMs`: how long the connection stays open without a request. */
function createToHttp(keepAliveMs: number): (answer: WireAnswer) => string {
  const seconds = Math.floor(keepAliveMs / 1_000);
  const keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
  const now = createDate();
  return ({ status, headers, type, body }) => {
    const start = status === 200 ? ok : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    const own = headers === undefined ? "" : linesOf(headers);
    const length = Buffer.byteLength(body);
    return `${start}${own}content-type: ${type}\r\ncontent-length: ${length}\r\nDate: ${now()}\r\n${keptAlive}${body}`;
  };
}

const ok = "HTTP/1.1 200 OK\r\n";

function linesOf(headers: Headers): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

/** The value of the header `Date`, which is the same for a second. */
function createDate(): () => string {
  let text = "";
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = Date.now();
    if (nowMs >= untilMs || nowMs < untilMs - 1_000) {
      text = new Date(nowMs).toUTCString();
      untilMs = nowMs - (nowMs % 1_000) + 1_000;
    }
    return text;
  };
}
