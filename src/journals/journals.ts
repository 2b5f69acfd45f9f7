/**
 * Records the journals of a Restate deployment's invocations, and replays them on later code. A journal is the body of the
 * request by which Restate continues an invocation: a start message, then each command with what became of it.
 */
import { once } from "node:events";
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";

export type Journal = {
  service: string;
  handler: string;
  /** The content type of its requests, which has the version of the protocol. */
  protocol: string;
  body: Buffer;
};

/** A handler as `createEndpointHandler` of `@restatedev/restate-sdk/fetch` returns it. */
export type Endpoint = (request: Request) => Promise<Response>;

/** `at`: the journal's step from which the code departs; absent: it has no name, or the code fails by itself. */
export type Verdict = { fits: true } | { fits: false; at?: string; text: string };

/**
 * Returns if the code of the endpoint accepts the journal. The handler runs up to the first thing that the journal does not
 * have, which may be a step: what it is made of must do no harm.
 */
export async function replayJournal(
  endpoint: Endpoint,
  { service, handler, protocol, body }: Journal,
  { limitMs = 5_000 } = {},
): Promise<Verdict> {
  const replaying = new AbortController();
  const request = new Request(`http://localhost/invoke/${service}/${handler}`, {
    method: "POST",
    headers: { "content-type": protocol },
    body: new Uint8Array(body),
    signal: replaying.signal,
  });
  const late: Verdict = { fits: false, text: `no answer within ${limitMs} ms` };
  const timeout = delay(limitMs, late, { signal: replaying.signal });
  const verdict = endpoint(request).then((answer) => readVerdict(answer, body));
  return Promise.race([verdict, timeout]).finally(() => replaying.abort());
}

/** Reads the first message alone: only code that has used up its journal sends one that is no error. */
async function readVerdict(answer: Response, journal: Buffer): Promise<Verdict> {
  if (answer.status !== 200) {
    return { fits: false, text: `HTTP ${answer.status}: ${(await answer.text()).slice(0, 1_000)}` };
  }
  let bytes = Buffer.alloc(0);
  for await (const piece of answer.body ?? []) {
    bytes = Buffer.concat([bytes, piece]);
    const [first] = messagesOf(bytes);
    if (first === undefined) continue;
    if (first.type !== types.error) return { fits: true };
    const { 2: text = "an error without a message", 4: index } = textsOf(first);
    const at = commandsOf(journal)[Number(index)]?.fields.get(12)?.toString();
    return { fits: false, ...(at && { at }), text };
  }
  return { fits: false, text: "the answer has no message" };
}

/** The journals of a folder, by the names of their files. */
export function readJournals(folder: string): ReadonlyMap<string, Journal> {
  const files = globSync("*.gz", { cwd: folder }).sort();
  return new Map(files.map((file) => [file, unpack(readFileSync(path.join(folder, file)))]));
}

/** Replaces the journals of the folder by these, a file each: `<service>.<handler>-<number>.gz`. */
export function writeJournals(folder: string, journals: readonly Journal[]): void {
  mkdirSync(folder, { recursive: true });
  for (const file of globSync("*.gz", { cwd: folder })) rmSync(path.join(folder, file));
  for (const [name, alike] of Map.groupBy(journals, (one) => `${one.service}.${one.handler}`)) {
    for (const [i, { body, ...head }] of alike.entries()) {
      const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
      writeFileSync(path.join(folder, `${name}-${i + 1}.gz`), gzipSync(bytes, { level: 9 }));
    }
  }
}

function unpack(packed: Buffer): Journal {
  const bytes = gunzipSync(packed);
  const end = bytes.indexOf("\n");
  return { ...JSON.parse(bytes.toString("utf8", 0, end)), body: bytes.subarray(end + 1) };
}

export type Recorder = {
  /** The address of the deployment for Restate. */
  url: string;
  /** The shortest journal of each way that a handler has taken so far; none of invocations in the middle of a step. */
  journals: () => Journal[];
  stop: () => void;
};

/**
 * Stands between Restate and a deployment at `to`, which takes HTTP/2 in plain text. Restate is told not to stream: it then
 * sends an invocation's whole journal after each wait.
 */
export async function startRecorder({ to }: { to: string }): Promise<Recorder> {
  // By invocation; undefined: Restate will send more of it.
  const newest = new Map<string, Journal | undefined>();
  const sessions: { destroy: () => void }[] = [];
  const server = http2.createServer((incoming, outgoing) => {
    // Restate repeats a call whose stream breaks.
    pass(incoming, outgoing, { to, newest }).catch(() => outgoing.stream.destroy());
  });
  server.on("session", (session) => sessions.push(session));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    journals: () => chooseJournals([...newest.values()].filter((one) => one !== undefined)),
    stop: () => {
      server.close();
      for (const session of sessions) session.destroy();
    },
  };
}

const withoutStreaming = (manifest: Buffer) =>
  manifest.toString().replace('"BIDI_STREAM"', '"REQUEST_RESPONSE"');

async function pass(
  { headers, url, stream: body }: http2.Http2ServerRequest,
  { stream: outgoing }: http2.Http2ServerResponse,
  { to, newest }: { to: string; newest: Map<string, Journal | undefined> },
): Promise<void> {
  const session = http2.connect(to);
  // Its streams have the same error.
  session.on("error", () => {});
  try {
    const request = await buffer(body);
    const stream = session.request(headers, { endStream: false }).end(request);
    const [head] = await once(stream, "response");
    const answer = await buffer(stream);
    const [, service = "", handler = ""] = /\/invoke\/([^/]+)\/([^/]+)$/.exec(url) ?? [];
    const [start] = messagesOf(request);
    if (handler !== "" && start !== undefined) {
      const [joined, protocol] = [join(request, answer), String(headers["content-type"])];
      const id = start.fields.get(1)?.toString("hex") ?? "";
      newest.set(id, joined && { service, handler, protocol, body: joined });
    }
    outgoing.respond(head);
    outgoing.end(url.endsWith("/discover") ? withoutStreaming(answer) : answer);
  } finally {
    session.close();
  }
}

/** Returns the request with the commands of its answer, if that ends the invocation or waits for something but a step. */
function join(request: Buffer, answer: Buffer): Buffer | undefined {
  const [start, ...known] = messagesOf(request);
  const added = messagesOf(answer);
  const last = added.at(-1)?.type;
  const hasStep = added.some(({ type }) => type === types.stepResult);
  const isWhole = last === types.end || (last === types.suspension && !hasStep);
  if (start === undefined || !isWhole) return;
  // Without the output: a later version may have one more step before it.
  const isEntry = ({ type }: Message) => type >= types.input && type !== types.output;
  const entries = [...known, ...added].filter(isEntry);
  // Their number, field 3, once more: of a field that occurs twice the last one holds.
  const { length } = entries;
  const field = [3 << 3, (length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14];
  const head = Buffer.concat([start.bytes, Buffer.from(field)]);
  head.writeUInt32BE(head.length - 8, 4);
  return Buffer.concat([head, ...entries.map(({ bytes }) => bytes)]);
}

/** A way is the set of the commands; one without commands fits always, and is left out. */
function chooseJournals(journals: readonly Journal[]): Journal[] {
  const shortest = new Map<string, Journal>();
  for (const journal of journals.toSorted((a, b) => a.body.length - b.body.length)) {
    const [, ...commands] = commandsOf(journal.body);
    const way = [journal.service, journal.handler, ...new Set(commands.map(describe))].join("\n");
    if (commands.length > 0 && !shortest.has(way)) shortest.set(way, journal);
  }
  return [...shortest].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, journal]) => journal);
}

/** The input is the first. */
const commandsOf = (journal: Buffer) =>
  messagesOf(journal).filter(({ type }) => type >= types.input && type < types.notification);

/** Its type and name, and of a call the service and the handler. */
function describe(message: Message): string {
  const { 1: service, 2: handler, 12: name } = textsOf(message);
  const isCall = message.type === types.call || message.type === types.send;
  return [message.type, name, ...(isCall ? [service, handler] : [])].join(" ");
}

// Restate's service protocol: messages of type, flags and length, then a protobuf.

const types = {
  suspension: 0x0001,
  error: 0x0002,
  end: 0x0003,
  stepResult: 0x0005,
  input: 0x0400,
  output: 0x0401,
  call: 0x040d,
  send: 0x040e,
  notification: 0x8000,
} as const;

type Message = { type: number; bytes: Buffer; fields: ReadonlyMap<number, Buffer> };

/** Without one whose end is missing. */
function messagesOf(bytes: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0, end = 0; at + 8 <= bytes.length; at = end) {
    end = at + 8 + bytes.readUInt32BE(at + 4);
    if (end > bytes.length) break;
    const message = bytes.subarray(at, end);
    const fields = fieldsOf(message.subarray(8));
    messages.push({ type: message.readUInt16BE(0), bytes: message, fields });
  }
  return messages;
}

const textsOf = ({ fields }: Message): Record<number, string> =>
  Object.fromEntries([...fields].map(([number, bytes]) => [number, bytes.toString()]));

/** The fields that have a length, and integers as decimals, by their numbers. */
function fieldsOf(payload: Buffer): ReadonlyMap<number, Buffer> {
  const fields = new Map<number, Buffer>();
  let at = 0;
  const readNumber = () => {
    let number = 0;
    for (let factor = 1, byte = 128; byte > 127; factor *= 128) {
      byte = payload[at++] ?? 0;
      number += (byte & 127) * factor;
    }
    return number;
  };
  while (at < payload.length) {
    const tag = readNumber();
    const [field, kind] = [tag >> 3, tag & 7];
    const number = kind === 0 || kind === 2 ? readNumber() : 0;
    const length = [0, 8, number, 0, 0, 4][kind] ?? payload.length;
    if (kind === 0) fields.set(field, Buffer.from(String(number)));
    if (kind === 2) fields.set(field, payload.subarray(at, at + length));
    at += length;
  }
  return fields;
}
