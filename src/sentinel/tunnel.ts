/** WebSockets: asked for like any request, then bytes both ways until either end has enough. */
import {
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { request as requestHttps } from "node:https";
import type { Socket } from "node:net";
import { pipeline } from "node:stream/promises";
import { ProblemError } from "#kernel/problem.ts";
import { isPlainlyCoded, unreachable } from "./ask.ts";
import {
  describeRequest,
  exchangeLimitMs,
  tooSlow,
  upstreamSilenceMs,
  type VerifiedRequest,
} from "./forward.ts";
import { answerHeaders, endToEnd } from "./headers.ts";

/** The caller's end of what is to become a tunnel. */
type Upgrade = {
  incoming: IncomingMessage;
  socket: Socket;
  /** What the caller has sent behind its request already. */
  head: Buffer;
  /** For an answer other than 101. */
  outgoing: ServerResponse;
};

export type Tunnels = {
  /** Resolves once the tunnel stands, or the upstream's refusal is passed on; throws as `Forward` does. */
  open: (upgrade: Upgrade, accepted: VerifiedRequest) => Promise<void>;
  /** Ends all there are, and from then on each one as soon as it stands. */
  closeAll: () => void;
};

type Limits = { handshakeMs: number; silenceMs: number; lifeMs: number };

/**
 * A tunnel without a byte for that long is dead, and none outlives the last: its caller connects anew,
 * and its key is asked for again.
 */
const usualLimits: Limits = {
  handshakeMs: upstreamSilenceMs,
  silenceMs: 300_000,
  lifeMs: exchangeLimitMs,
};

/** For what is left to say once the other side has ended. */
const lastWordMs = 5_000;

/** Only this: any other protocol would be one in which nobody looks at keys. */
export function asksForTunnel({ method, httpVersion, headers }: IncomingMessage): boolean {
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
  const send = upstream.protocol === "https:" ? requestHttps : requestHttp;
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
      // A connection of its own, for this alone: nothing that goes wrong in it touches anybody else.
      agent: false,
    });
    const handshake = shakeHands(outbound, limits.handshakeMs);
    socket.once("close", handshake.giveUp);
    try {
      const answer = await handshake.answer;
      if (answer.far === undefined) await refuseAs(answer.message, outgoing);
      else track(connect(upgrade, answer, limits), socket);
    } finally {
      handshake.end();
      socket.off("close", handshake.giveUp);
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

/** What the upstream says to the upgrade; `end` once that is dealt with. */
function shakeHands(outbound: ClientRequest, withinMs: number) {
  const giveUp = () => outbound.destroy();
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
    // Nothing of the caller's bytes before the upstream agrees: it could take them for a request.
    outbound.end();
  });
  return { answer, giveUp, end: () => clearTimeout(timer) };
}

async function refuseAs(message: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { statusCode = 502 } = message;
  if (!isPlainlyCoded(message.headers)) {
    message.destroy();
    throw unreachable(new Error("the answer has a transfer coding that nobody asked for"));
  }
  const headers = answerHeaders(statusCode, message.headers);
  outgoing.writeHead(statusCode, { ...headers, connection: "close" });
  await pipeline(message, outgoing);
}

/** Answers what ends the tunnel, once what is under way has been written. */
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
    // One side is done: the other one may say a last word.
    from.once("end", () => to.setTimeout(lastWordMs));
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
