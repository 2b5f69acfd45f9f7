/** Tunnels for WebSockets: an upgrade request like any other, then bytes both ways until one side closes. */
import type {
  ClientRequest,
  IncomingHttpHeaders,
  IncomingMessage,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { ProblemError } from "#kernel/problem.ts";
import {
  describeRequest,
  exchangeLimitMs,
  tooSlow,
  upstreamSilenceMs,
  type VerifiedRequest,
} from "./forward.ts";
import { answerHeaders, endToEnd } from "./headers.ts";
import { http } from "./health.ts";
import { isPlainlyCoded, unreachable } from "./send-upstream.ts";

type Upgrade = {
  incoming: IncomingMessage;
  socket: Socket;
  /** Bytes that the caller has already sent after its request. */
  head: Buffer;
  /** The response for an answer other than 101. */
  outgoing: ServerResponse;
};

export type Tunnels = {
  /** Resolves when the tunnel is open, or the upstream's refusal was forwarded; throws like `Forward`. */
  open: (upgrade: Upgrade, accepted: VerifiedRequest) => Promise<void>;
  /** Closes all tunnels, and later ones as soon as they are open. */
  closeAll: () => void;
};

type Limits = { handshakeMs: number; silenceMs: number; lifeMs: number };

/** Without data for `silenceMs` it is dead; after `lifeMs` it is closed, so that the key is verified again. */
const usualLimits: Limits = {
  handshakeMs: upstreamSilenceMs,
  silenceMs: 300_000,
  lifeMs: exchangeLimitMs,
};

/** The time for which one side may still send after the other has ended. */
const halfClosedMs = 5_000;

/** WebSockets only: within another protocol, requests could pass without a key. */
export function isTunnelRequest({ method, httpVersion, headers }: IncomingMessage): boolean {
  return (
    method === "GET" &&
    httpVersion === "1.1" &&
    headers.upgrade?.toLowerCase() === "websocket" &&
    headers["sec-websocket-key"] !== undefined &&
    headers["transfer-encoding"] === undefined &&
    Number(headers["content-length"] ?? 0) === 0
  );
}

export function createTunnels(
  upstreamUrl: string,
  sentinelId: string,
  limits: Limits = usualLimits,
): Tunnels {
  const upstream = new URL(upstreamUrl);
  const { request: send } =
    upstream.protocol === "https:" ? process.getBuiltinModule("node:https") : http;
  const ends = new Set<() => void>();
  let isClosing = false;
  const open: Tunnels["open"] = async (upgrade, accepted) => {
    const { incoming, socket, outgoing } = upgrade;
    const { method, path, headers } = describeRequest(incoming, {
      ...accepted,
      upstream,
      sentinelId,
    });
    const outbound = send({
      protocol: upstream.protocol,
      hostname: upstream.hostname.replace(/^\[|\]$/g, ""),
      port: upstream.port,
      method,
      path,
      headers: { ...headers, connection: "Upgrade", upgrade: "websocket" },
      // A connection of its own, so that its errors affect no other request.
      agent: false,
    });
    const handshake = shakeHands(outbound, limits.handshakeMs);
    socket.once("close", handshake.abort);
    try {
      const answer = await handshake.answer;
      if (answer.far === undefined) await refuseAs(answer.message, outgoing);
      else track(connect(upgrade, answer, limits), socket);
    } finally {
      handshake.end();
      socket.off("close", handshake.abort);
    }
  };
  const track = (end: () => void, socket: Socket) => {
    ends.add(end);
    socket.once("close", () => ends.delete(end));
    if (isClosing) end();
  };
  const closeAll = () => {
    isClosing = true;
    for (const end of ends) end();
  };
  return { open, closeAll };
}

type Agreement = { message: IncomingMessage; far: Socket; head: Buffer };
type Refusal = { message: IncomingMessage; far?: undefined };

/** Sends the upgrade and waits for the upstream's answer. Call `end` when the answer is handled. */
function shakeHands(outbound: ClientRequest, withinMs: number) {
  const abort = () => outbound.destroy();
  const timer = setTimeout(() => outbound.destroy(tooSlow()), withinMs);
  const answer = new Promise<Agreement | Refusal>((resolve, reject) => {
    outbound.once("response", (message) => resolve({ message }));
    outbound.once("upgrade", (message, far: Socket, head) => {
      if (message.headers.upgrade?.toLowerCase() === "websocket") {
        resolve({ message, far, head });
        return;
      }
      far.destroy();
      reject(unreachable(new Error("the upstream switches to another protocol")));
    });
    outbound.on("error", (error) => {
      reject(error instanceof ProblemError ? error : unreachable(error));
    });
    // None of the caller's bytes before the upstream agrees: it could read them as another request.
    outbound.end();
  });
  return { answer, abort, end: () => clearTimeout(timer) };
}

async function refuseAs(message: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { statusCode = 502 } = message;
  if (!isPlainlyCoded(message.headers)) {
    message.destroy();
    throw unreachable(new Error("the answer has a transfer coding that was not requested"));
  }
  const headers = answerHeaders(statusCode, message.headers);
  outgoing.writeHead(statusCode, { ...headers, connection: "close" });
  await pipeline(message, outgoing);
}

/** Connects both sides. Returns a function that closes the tunnel after writing pending data. */
function connect({ socket, outgoing, head }: Upgrade, agreed: Agreement, limits: Limits) {
  const { message, far } = agreed;
  outgoing.detachSocket(socket);
  socket.write(switching(message.headers), "latin1");
  far.write(head);
  far.unshift(agreed.head);
  const end = () => {
    socket.destroySoon();
    far.destroySoon();
  };
  const life = setTimeout(end, limits.lifeMs);
  for (const [from, to] of [
    [socket, far],
    [far, socket],
  ] as const) {
    from.setTimeout(limits.silenceMs, () => from.destroy());
    from.on("error", () => from.destroy());
    // One side has ended: the other may still send for a short time.
    from.once("end", () => to.setTimeout(halfClosedMs));
    from.once("close", () => {
      clearTimeout(life);
      to.destroySoon();
    });
    from.pipe(to);
  }
  return end;
}

function switching(headers: IncomingHttpHeaders): string {
  const lines = Object.entries(endToEnd(headers)).flatMap(([name, value]) =>
    [value ?? []].flat().map((one) => `${name}: ${one}`),
  );
  const start = ["HTTP/1.1 101 Switching Protocols", "connection: Upgrade", "upgrade: websocket"];
  return [...start, ...lines, "", ""].join("\r\n");
}
