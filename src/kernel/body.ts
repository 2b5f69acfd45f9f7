/** Reads bodies of requests and responses up to a limit of bytes. */
import type { IncomingMessage } from "node:http";
import { hideSecrets, writingsOf } from "./secrets.ts";

const mostChunks = 10_000;

type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** The whole body; undefined when it is longer than `maxBytes`: reading stops there. */
export async function readBody(body: Body, maxBytes: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    // A chunk may be a single byte, and takes a hundred more.
    if (chunks.push(chunk) < mostChunks) continue;
    parts.push(Buffer.concat(chunks));
    chunks = [];
  }
  return Buffer.concat([...parts, ...chunks]);
}

/** The lines as they come; throws for a longer one. No chunk is read twice: a server may send a line in very many. */
export async function* linesOf(
  body: AsyncIterable<Buffer>,
  maxLength: number,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const [more = "", ...lines] = decoder.decode(chunk, { stream: true }).split("\n");
    rest += more;
    for (const line of lines) {
      yield rest;
      rest = line;
    }
    if (rest.length > maxLength) throw new Error("too long a line");
  }
}

const mostParts = 2_000_000;
/** Lists of objects have few; each takes microseconds, and more the more there are. */
const mostShapes = 50_000;

/** JSON of another system; undefined for anything else, and for too many parts or shapes, which cost seconds and gigabytes. */
export function parseJson(bytes: Buffer, most = mostParts): unknown {
  let left = Math.min(most, 10_000 + bytes.length / 6);
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    // " , [ {
    if (byte === 34) at = findTextEnd(bytes, at);
    else if (byte === 44 || byte === 91 || byte === 123) left -= 1;
  }
  if (left < 0 || (bytes.length > mostShapes && hasManyShapes(bytes))) return undefined;
  return parseJsonText(bytes.toString());
}

function findTextEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (; at < bytes.length && bytes[at] !== 34; at += 1) if (bytes[at] === 92) at += 1;
  return at;
}

/** Nobody knows it, or texts could be made of which the hashes are the same. */
const seed = Math.trunc(Math.random() * 2 ** 30);

/** A shape is the names of an object up to one of them, in their order: an engine keeps each. */
function hasManyShapes(bytes: Buffer): boolean {
  const seen = new Set<number>();
  const outer: number[] = [];
  let shape = seed;
  let start = 0;
  for (let at = 0; at < bytes.length && seen.size <= mostShapes; at += 1) {
    const byte = bytes[at];
    if (byte === 34) {
      start = at;
      at = findTextEnd(bytes, at);
    } else if (byte === 58) {
      shape = extend(shape, bytes, { start, end: at });
      seen.add(shape);
    } else if (byte === 123) {
      outer.push(shape);
      shape = seed;
    } else if (byte === 125) shape = outer.pop() ?? seed;
  }
  return seen.size > mostShapes;
}

/** A hash of both (FNV-1a), as a small integer. */
function extend(shape: number, bytes: Buffer, { start, end }: { start: number; end: number }) {
  let hash = shape;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), 16_777_619);
  return hash & 0x3fffffff;
}

/** Parses texts of a few KiB, or texts that may be any JSON. Returns undefined for invalid JSON. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The answer without the secret that was sent for it, which servers, and proxies before them, may repeat. */
export function withoutSecret(bytes: Buffer, secret: string): Buffer {
  const isRepeated = secret.length >= 8 && writingsOf(secret).some((one) => bytes.includes(one));
  return isRepeated ? Buffer.from(hideSecrets(bytes.toString(), [secret])) : bytes;
}

/** The body of a request, for a parser of Fastify, which by itself holds every chunk. Throws as that does. */
export async function readRequestBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const isLarge = Number(request.headers["content-length"]) > maxBytes;
  const chunks = request.iterator({ destroyOnReturn: false });
  const body = isLarge ? undefined : await readBody(chunks, maxBytes).catch(refuseBroken);
  if (body !== undefined) return body;
  const code = "FST_ERR_CTP_BODY_TOO_LARGE";
  throw Object.assign(new Error("the body is too large"), { statusCode: 413, code });
}

/** The caller has gone in the midst of its body. */
function refuseBroken(cause: Error): never {
  throw Object.assign(cause, { statusCode: 400 });
}

/** Reads at most the first `maxBytes` of a body, or what came before its connection broke. Never throws. */
export async function readBeginning(body: Body, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= maxBytes) break;
    }
  } catch {
    // The part received before the error is returned.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

/** `stop`: where reading has stopped: at the body's end, at `maxBytes`, or where its connection broke. */
export type BodyEnd = { end: Buffer; stop: "end" | "limit" | "error" };

/** At most the last `keepBytes` of a body, of its first `maxBytes`, or of what came. Never throws. */
export async function readEnd(
  body: Body,
  { keepBytes, maxBytes }: { keepBytes: number; maxBytes: number },
): Promise<BodyEnd> {
  let stop: BodyEnd["stop"] = "end";
  let chunks: Uint8Array[] = [];
  let held = 0;
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      held += chunk.byteLength;
      bytes += chunk.byteLength;
      if (bytes >= maxBytes) {
        stop = "limit";
        break;
      }
      // Not with each chunk, which may be a single byte.
      if (held < 2 * keepBytes && chunks.length < mostChunks) continue;
      chunks = [Buffer.concat(chunks).subarray(-keepBytes)];
      held = Math.min(held, keepBytes);
    }
  } catch {
    // The part received before the error is returned.
    stop = "error";
  }
  return { end: Buffer.concat(chunks).subarray(-keepBytes), stop };
}

/** True if a body starts like HTML: proxies and login pages answer so instead of the service. */
export function isPage(text: string): boolean {
  return page.test(text);
}

const page = /^\s*<(?:!doctype\b|!--|\?xml\b|html\b|head\b|body\b)/i;
