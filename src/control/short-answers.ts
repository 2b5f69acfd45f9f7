/** Answers plain requests of doors before the framework, which costs several times as much; leaves it the others. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { FastifyPluginAsync } from "fastify";
import type { Log } from "#kernel/log.ts";
import { invariant } from "#kernel/problem.ts";
import { pathOf } from "#kernel/server.ts";
import { recordCall, remoteOf, safetyHeaders } from "./refusal.ts";

/** Routes that are served beside the gateway, to callers that are neither operators nor Restate's. */
export type Door = {
  isMine: (path: string) => boolean;
  plugin: FastifyPluginAsync;
  /** Answers a request without a body; null: `plugin` does it. The path has no query. Must neither throw nor reject. */
  answer?: (method: string, path: string) => Promise<ShortAnswer> | null;
};

/** An answer in plain text. */
export type ShortAnswer = { status: number; body: string };

type Parts = {
  /** Its answers close their connections once it no longer listens, as the framework's do. */
  server: Server;
  doors: readonly Door[];
  isLeaving: () => boolean;
  log: Log;
  trustedProxies: readonly string[];
};

/**
 * Answers short requests in front of the framework's listener, on its own server. Must be called before any other
 * listener is added. A further server that it makes, for another address of `localhost`, answers everything by the
 * framework.
 */
export function serveShortAnswers(parts: Parts): void {
  const { server } = parts;
  const [serve, ...others] = server.listeners("request") as RequestListener[];
  invariant(serve !== undefined && others.length === 0, "the framework has one listener");
  const findAnswer = createFindAnswer(parts.doors);
  server.off("request", serve).on("request", (request, response) => {
    const answer = findAnswer(request);
    if (answer === null) serve(request, response);
    else send({ request, response, answer }, parts);
  });
}

/** null: the request is the framework's. */
type FindAnswer = (request: IncomingMessage) => Promise<ShortAnswer> | null;

type Answer = NonNullable<Door["answer"]>;

function createFindAnswer(doors: readonly Door[]): FindAnswer {
  const quick = doors.flatMap(({ answer }) => (answer === undefined ? [] : [rejecting(answer)]));
  return (request) => {
    if (!isPlain(request)) return null;
    const { method = "" } = request;
    const path = pathOf(request);
    for (const answer of quick) {
      const found = answer(method, path);
      if (found !== null) return found;
    }
    return null;
  };
}

/** Turns a throw into a rejection: thrown here, it would end the process. */
function rejecting(answer: Answer): Answer {
  return (method, path) => {
    try {
      return answer(method, path);
    } catch (error) {
      return Promise.reject(error);
    }
  };
}

/** True if there is no body to read first, and no wish about the connection but to keep or close it. */
function isPlain({ socket, httpVersion, headers }: IncomingMessage): boolean {
  // With too many requests ahead of it, it was refused already.
  if (socket.destroyed || httpVersion !== "1.1") return false;
  const {
    "content-length": length = "0",
    "transfer-encoding": encoding,
    expect,
    upgrade,
  } = headers;
  const { connection = "keep-alive" } = headers;
  const isBare = length === "0" && (encoding ?? expect ?? upgrade) === undefined;
  return isBare && /^(?:keep-alive|close)$/i.test(connection);
}

const safety = Object.entries(safetyHeaders).flat();

type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  answer: Promise<ShortAnswer>;
};

function send({ request, response, answer }: Exchange, parts: Parts) {
  const { server, isLeaving, log } = parts;
  const requestId = randomUUID();
  // Decided now, as by the framework: those that were sent ahead before the close are all answered, so none of these
  // answers may end their connection.
  const isLast = isLeaving() || !server.listening;
  const forget = recordAtEnd({ request, response, requestId }, parts);
  const write = ({ status, body }: ShortAnswer) => {
    if (response.destroyed) return;
    response.writeHead(status, [
      ...safety,
      ...["x-request-id", requestId, "content-type", "text/plain"],
      ...["content-length", String(Buffer.byteLength(body))],
      ...(status === 503 ? ["retry-after", "5"] : []),
      ...(isLast ? ["connection", "close"] : []),
    ]);
    response.end(body);
  };
  answer.then(write).catch((error: unknown) => {
    log.error({ err: error, requestId }, "call failed");
    forget();
    // The caller sees that its connection is closed, as by a process that ends.
    response.destroy();
  });
}

type RecordedCall = Omit<Exchange, "answer"> & { requestId: string };

/** Call it before the answer is there: a caller that goes away first ends the response at once. Returns how to undo it. */
function recordAtEnd({ request, response, requestId }: RecordedCall, parts: Parts): () => void {
  const { log, trustedProxies } = parts;
  const beganMs = performance.now();
  // A socket that is closed does not know it any more.
  const { remoteAddress } = request.socket;
  const record = () => {
    const { statusCode: status, writableFinished: isSent } = response;
    // Nothing is made that is not logged: there may be thousands of requests in a second.
    if (isSent && status !== 401 && !log.isLevelEnabled("debug")) return;
    const asked = { headers: request.headers, socket: { remoteAddress } };
    const remote = remoteOf(asked, trustedProxies);
    const durationMs = performance.now() - beganMs;
    recordCall(log, { requestId, path: pathOf(request), status, isSent, remote, durationMs });
  };
  response.once("close", record);
  return () => void response.off("close", record);
}
