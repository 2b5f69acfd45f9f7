/**
 * Answers plain requests of doors before the framework sees them: its hooks, router and reply cost several times what a
 * ping does. Whatever is not recognized in full is left to the framework, which answers it the same.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import { clientOf, hopsOf } from "#kernel/address.ts";
import { invariant } from "#kernel/invariant.ts";
import type { Log } from "#kernel/log.ts";
import { recordCall } from "./call-log.ts";
import type { Door, ShortAnswer } from "./door.ts";
import { safetyHeaders } from "./refusal.ts";

type Parts = {
  /** Its answers close their connections once it no longer listens, as the framework's do. */
  server: Server;
  doors: readonly Door[];
  isLeaving: () => boolean;
  log: Log;
  trustedProxies: readonly string[];
};

/**
 * In front of the framework's listener, on its own server. Must be called before any other listener is added. A further
 * server that it makes, for another address of `localhost`, answers everything by the framework.
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

function createFindAnswer(doors: readonly Door[]): FindAnswer {
  const quick = doors.flatMap(({ answer }) => (answer === undefined ? [] : [answer]));
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

const pathOf = ({ url = "" }: IncomingMessage) => url.split("?", 1)[0] ?? "";

/** Without a body, which has to be read to its end first, and without wishes about the connection but to keep or close it. */
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
  const { server, isLeaving, log, trustedProxies } = parts;
  const requestId = randomUUID();
  const beganMs = performance.now();
  // A socket that is closed does not know it any more.
  const { remoteAddress } = request.socket;
  // Before the answer is there: a caller that goes away first ends the response at once.
  response.once("close", () => {
    const isSent = response.writableFinished;
    // Of thousands in a second nothing is made that is not logged.
    if (isSent && !log.isLevelEnabled("debug")) return;
    const hops = hopsOf({ headers: request.headers, socket: { remoteAddress } });
    const remote = clientOf(hops, trustedProxies);
    const durationMs = performance.now() - beganMs;
    const { statusCode: status } = response;
    recordCall(log, { requestId, path: pathOf(request), status, isSent, remote, durationMs });
  });
  void answer.then(({ status, body }) => {
    if (response.destroyed) return;
    response.writeHead(status, [
      ...safety,
      ...["x-request-id", requestId, "content-type", "text/plain"],
      ...["content-length", String(Buffer.byteLength(body))],
      ...(isLeaving() || !server.listening ? ["connection", "close"] : []),
    ]);
    response.end(body);
  });
}
