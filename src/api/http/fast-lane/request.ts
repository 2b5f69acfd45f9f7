/** Reads a POST of a short JSON with each header once; anything else is none, and left to Node's parser. */
import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import proxyAddr from "@fastify/proxy-addr";
import type { StartAnswer } from "#api/http/answering.ts";
import type { MountedRoute } from "#api/http/router.ts";
import type { CounterOf, CountRequest } from "#api/metrics.ts";

/** Proxies in front, whose X-Forwarded-For is believed; false: none. */
export type TrustProxy = false | string[];

export type AddressOf = (socket: Socket, headers: IncomingHttpHeaders) => string;

export function createAddressOf(trustProxy: TrustProxy): AddressOf {
  if (trustProxy === false) return ({ remoteAddress = "" }) => remoteAddress;
  const isTrusted = proxyAddr.compile(trustProxy);
  return (socket, headers) =>
    proxyAddr({ socket, headers } as unknown as Parameters<typeof proxyAddr>[0], isTrusted) ?? "";
}

/** `count`: counts a request in the metrics; undefined: none are. */
export type FastRoute = { start: StartAnswer; count: CountRequest | undefined };

export type FastRoutes = ReadonlyMap<string, FastRoute>;

export function createFastRoutes(
  routes: readonly MountedRoute[],
  counterOf: CounterOf | undefined,
): FastRoutes {
  const usual = routes.filter(({ procedure }) => procedure.readUsual !== undefined);
  return new Map(usual.map(({ path, start }) => [path, { start, count: counterOf?.(path) }]));
}

export type Head = {
  /** The text as received, without the empty line. */
  text: string;
  path: string;
  headers: IncomingHttpHeaders;
  length: number;
};

export type FastRequest = {
  head: Head;
  body: unknown;
  /** The bytes that came after it. */
  rest: Buffer | undefined;
};

const longestHead = 4_096;
const mostHeaders = 64;
const emptyLine = Buffer.from("\r\n\r\n");

/** The head, and a part of the body. */
type RequestPart = { head: Head; isIncomplete: true };

/** The request at the start of these bytes; undefined: anything else. `known`: the connection's last head, not read again. */
export function readRequest(bytes: Buffer, known?: Head): FastRequest | RequestPart | undefined {
  const end = bytes.indexOf(emptyLine);
  if (end < 0 || end > longestHead) return undefined;
  const text = bytes.toString("latin1", 0, end);
  const head = known?.text === text ? known : readHead(text);
  if (head === undefined) return undefined;
  const bodyAt = end + emptyLine.length;
  const bodyEnd = bodyAt + head.length;
  if (bodyEnd > bytes.length) return { head, isIncomplete: true };
  const after = bytes.subarray(bodyEnd);
  const rest = after.length === 0 ? undefined : after;
  try {
    return { head, body: JSON.parse(bytes.toString("utf8", bodyAt, bodyEnd)), rest };
  } catch {
    return undefined;
  }
}

const startLine = /^POST (\/v2\/[A-Za-z]+\.[A-Za-z]+) HTTP\/1\.1$/;
/** Visible ASCII: no other bytes, which parsers read differently. */
const headerLine = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?([\x21-\x7e]+(?:[ \t]+[\x21-\x7e]+)*)$/;
const bodyLength = /^[1-9][0-9]{0,3}$/;
const bodyType = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Headers that say how the request or its connection is to be read. */
const ofTheConnection = new Set([
  ...["connection", "proxy-connection", "transfer-encoding", "upgrade", "expect", "te", "trailer"],
]);

function readHead(text: string): Head | undefined {
  const [start = "", ...lines] = text.split("\r\n", mostHeaders + 2);
  const path = startLine.exec(start)?.[1];
  if (path === undefined || lines.length > mostHeaders) return undefined;
  const headers = readHeaders(lines);
  const { host, "content-type": type = "", "content-length": length = "" } = headers ?? {};
  if (headers === undefined || host === undefined || !bodyType.test(type)) return undefined;
  return bodyLength.test(length) ? { text, path, headers, length: Number(length) } : undefined;
}

/** undefined: one that is there twice, that the lane does not know, or that is none. */
function readHeaders(lines: readonly string[]): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = {};
  for (const line of lines) {
    const [, written, value] = headerLine.exec(line) ?? [];
    const name = written?.toLowerCase();
    // `in`: nor one that every object has.
    if (name === undefined || name in headers) return undefined;
    if (
      ofTheConnection.has(name) &&
      !(name === "connection" && value?.toLowerCase() === "keep-alive")
    )
      return undefined;
    headers[name] = value;
  }
  return headers;
}
