/** Sends requests by undici, which src gets here alone, and accepts answers as other systems really send them. */
import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import { arrayBuffer, buffer } from "node:stream/consumers";
import tls from "node:tls";
import {
  type Dispatcher,
  type ProxyAgent as Proxies,
  request as requestRaw,
  setGlobalDispatcher,
  Agent as UndiciAgent,
  ProxyAgent as UndiciProxyAgent,
} from "undici";
import { codingsOf, decodeBody } from "./content-coding.ts";
import { traceRequest } from "./tracing.ts";

export * from "undici";

/** The numbers of DHE are the server's choice, and may be so long that this process stands still; browsers have none. */
tls.DEFAULT_CIPHERS += ":!kDHE";

/** A session of HTTP/2 outlives its requests, and a server may keep us busy in it. */
const http1 = { allowH2: false };

export class Agent extends UndiciAgent {
  constructor(options: UndiciAgent.Options = {}) {
    super({ ...http1, ...options });
  }
}

export class ProxyAgent extends UndiciProxyAgent {
  constructor({ requestTls, ...options }: Proxies.Options) {
    super({ ...options, ...http1, requestTls: { ...requestTls, ...http1 }, proxyTls: http1 });
  }
}

/** Serves calls that name none, `fetch` too; a proxy of the environment would get tokens for our own services. */
setGlobalDispatcher(new Agent());

/** Limit of a compressed answer's decompressed size: no answer that we ask for is longer. */
const largestDecoded = 64 * 1024 * 1024;

/** Sent with requests that have no other. */
export const userAgent = "vedette";

type Options = Omit<NonNullable<Parameters<typeof requestRaw<null>>[1]>, "headers"> & {
  headers?: Record<string, string>;
};

/** `.` and `..`, also encoded: a parser of URLs resolves them, and a server may. */
const dotSegment = /^[^?#]*[/\\](?:\.|%2e){1,2}(?:[/\\?#]|$)/i;

/** Decompresses the body, also if unasked. Throws for a segment that leads to another path, as a given id may have. */
export async function request(
  address: string | URL,
  options: Options = {},
): Promise<Dispatcher.ResponseData> {
  if (typeof address === "string" && dotSegment.test(address)) {
    throw Object.assign(new Error("a name in the address is . or .."), { code: "ERR_DOT_SEGMENT" });
  }
  const headers = { "user-agent": userAgent, ...options.headers };
  const answer = await traceRequest({ address, method: options.method }, (traced) =>
    requestRaw(address, { ...options, headers: { ...headers, ...traced } }),
  );
  const codings = codingsOf(answer.headers["content-encoding"]);
  return codings.length === 0 ? answer : { ...answer, body: decode(answer.body, codings) };
}

type Body = Dispatcher.ResponseData["body"];

/** Throws undici's error for an answer that is too large, as its agents do. */
function decode(body: Body, codings: string[]): Body {
  const decoded = Readable.from(decodeBody(body, { codings, maxBytes: largestDecoded }));
  return Object.assign(decoded, {
    text: async () => new TextDecoder().decode(await buffer(decoded)),
    arrayBuffer: () => arrayBuffer(decoded),
    dump: () => body.dump(),
  }) as unknown as Body;
}

/**
 * undici (8.13), and with it `fetch`, takes a `100 Continue` that it did not ask for as a broken answer, and interim answers
 * with `Connection: close` or a length too, though a client passes over all of them (RFC 9110, section 15.2). It does
 * pass over a bare 102: therefore each becomes one as it arrives. For all connections of undici in this process, as
 * its diagnostics tell them.
 */
subscribe("undici:client:sendHeaders", (message) => {
  awaitAnswer((message as { socket: Socket }).socket);
});

/** The state of a socket's answer; `held`: the start of a head that may belong to an interim answer. */
type Reception = { isBeforeAnswer: boolean; held: Buffer };

const receptions = new WeakMap<Socket, Reception>();
const nothing = Buffer.alloc(0);

function awaitAnswer(socket: Socket): void {
  const known = receptions.get(socket);
  if (known !== undefined) {
    known.isBeforeAnswer = true;
    known.held = nothing;
    return;
  }
  const reception = { isBeforeAnswer: true, held: nothing };
  receptions.set(socket, reception);
  const push = socket.push.bind(socket);
  socket.push = (chunk: Buffer | null, encoding) => {
    if (!reception.isBeforeAnswer) return push(chunk, encoding);
    const passed = chunk === null ? reception.held : passOver(reception, chunk);
    const isWanted = passed.length === 0 || push(passed);
    return chunk === null ? push(null) : isWanted;
  };
}

const interimStart = /^HTTP\/1\.\d 1(?!01)\d\d[ \r]/;
const bareInterim = "HTTP/1.1 102 Processing\r\n\r\n";
const headEnd = "\r\n\r\n";
const longestHead = 65_536;

/** Returns the bytes that undici gets of those held and the chunk. */
function passOver(reception: Reception, chunk: Buffer): Buffer {
  let rest = reception.held.length === 0 ? chunk : Buffer.concat([reception.held, chunk]);
  let passed = "";
  reception.held = nothing;
  while (rest.length > 0) {
    // Parsers accept empty lines before a status line.
    let start = 0;
    while (rest[start] === 13 || rest[start] === 10) start += 1;
    rest = rest.subarray(start);
    const text = rest.toString("latin1", 0, bareInterim.length);
    const isInterim = interimStart.test(text + bareInterim.slice(text.length));
    reception.isBeforeAnswer = isInterim && rest.length <= longestHead;
    if (!reception.isBeforeAnswer) break;
    const end = rest.indexOf(headEnd);
    if (end < 0) {
      reception.held = rest;
      rest = nothing;
    } else {
      passed += bareInterim;
      rest = rest.subarray(end + headEnd.length);
    }
  }
  return passed === "" ? rest : Buffer.concat([Buffer.from(passed), rest]);
}
