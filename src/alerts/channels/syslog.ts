/**
 * Syslog (RFC 5424) over TLS (RFC 5425) or TCP (RFC 6587), each line with its length before it. No receiver answers: a
 * line counts as delivered when the receiver has closed the connection after us, which it does once it has read all.
 */
import { once } from "node:events";
import { isIP, type Socket } from "node:net";
import { hostname } from "node:os";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { rolloutKeyOf } from "#alerts/order.ts";
import { gradeNetworkError, type Outcome, wordsOf } from "#alerts/outcome.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { unlessAborted } from "#kernel/async.ts";
import { connectTo, type Reach } from "#kernel/reach.ts";
import { toIso } from "#kernel/time.ts";
import { type ChannelMessage, limitOf, type Send } from "./message.ts";
import { channelFault, type Destination, readDestination } from "./secrets.ts";
import { askChannel, type QuestionParts, typeOf } from "./webhook.ts";
import { headline, isFailure, oneLine, shorten } from "./words.ts";

const facilities = { audit: 13, alert: 14 } as const;
const severities = { critical: 2, error: 3, warning: 4, notice: 5, info: 6 } as const;

export type Line = {
  facility: keyof typeof facilities;
  severity: keyof typeof severities;
  atMs: number;
  /** The MSGID. */
  event: string;
  /** The structured data; names of letters, digits and `_`. */
  data: Readonly<Record<string, string>>;
  text: string;
};

/** This process, as lines name it. */
const sender = { host: hostname(), process: process.pid };

/** Without its length. A text that is not ASCII begins with the byte order mark that says that it is UTF-8. */
export function formatLine(line: Line, { host, process } = sender): string {
  const { facility, severity, atMs, event, data, text } = line;
  const priority = facilities[facility] * 8 + severities[severity];
  const header = [toIso(atMs), toName(host, 255), "vedette", process, toName(event, 32)].join(" ");
  const isAscii = /^[ -~]*$/.test(text);
  return `<${priority}>1 ${header} ${structure(data)} ${isAscii ? "" : "\ufeff"}${text}`;
}

/** RFC 5424 has printable ASCII there, and `-` for nothing. */
function toName(text: string, limit: number): string {
  return text.replace(/[^!-~]/g, "").slice(0, limit) || "-";
}

/**
 * A name of one's own needs the number of an enterprise after its `@`. Vedette has none: 32473 is the one that RFC 5612
 * keeps for examples, so that it is nobody else's.
 */
const dataId = "vedette@32473";
const valueLength = 250;
/** Rsyslog cuts a line after 8,096 bytes, of which a character of text may be three. */
const textLength = 2_000;

function structure(data: Line["data"]): string {
  const pairs = Object.entries(data).map(([name, value]) => {
    const escaped = shorten(oneLine(value), valueLength).replace(/["\\\]]/g, "\\$&");
    return ` ${name}="${escaped}"`;
  });
  return `[${dataId}${pairs.join("")}]`;
}

/** The line of an alert or a notice, the same for every attempt. */
export function renderSyslog(message: ChannelMessage): Line {
  const { eventId: event_id, atMs, url } = message;
  const about =
    message.kind === "notice"
      ? { dedup_key: rolloutKeyOf(message) }
      : { check: message.checkId, environment: message.environment, dedup_key: message.dedupKey };
  return {
    facility: "alert",
    severity: severityOf(message),
    atMs,
    event: typeOf(message),
    data: { ...about, event_id, ...(url !== null && { url }) },
    text: shorten(headline(message), textLength),
  };
}

function severityOf(message: ChannelMessage): Line["severity"] {
  if (message.isTest) return "info";
  if (message.kind === "notice") {
    return message.notice.tone === "warning" ? "warning" : isFailure(message) ? "error" : "notice";
  }
  if (message.kind === "resolved") return "notice";
  return message.environment === "production" ? "critical" : "warning";
}

export const sendToSyslog: Send<"syslog"> = ({ message, ...delivery }) =>
  sendLines([renderSyslog(message)], delivery);

type Answer = { status: number } | { error: string };
type Records = { id: string; body: string; lines: readonly Line[] };

/** Sends records to a channel: of the kind syslog as lines, of the kind webhook as a question. */
export function createSendRecords({ readChannels, ...parts }: QuestionParts) {
  return async (id: string, records: Records): Promise<Answer> => {
    const channel = (await readChannels()).find((row) => row.id === id);
    if (channel?.kind === "webhook") return askChannel(records, { ...parts, channel });
    if (channel?.kind !== "syslog") {
      return { error: `there is no channel ${id} of the kind webhook or syslog` };
    }
    const found = readDestination(channel, parts.readSecret);
    if ("kind" in found) return { error: wordsOf(found) ?? found.kind };
    const timeoutMs = limitOf(channel, parts.timeoutMs);
    const outcome = await sendLines(records.lines, { ...parts, ...found, channel, timeoutMs });
    if (outcome.kind === "accepted") return { status: 200 };
    return { error: wordsOf(outcome) ?? outcome.kind };
  };
}

type Target = Destination & {
  channel: ChannelOf<"syslog">;
  /** The limit of all: name, connection, handshake, lines and close. */
  timeoutMs: number;
  reach: Pick<Reach, "resolve">;
};

/** Never throws. After anything but `accepted` some of the lines may have arrived all the same. */
async function sendLines(lines: readonly Line[], target: Target): Promise<Outcome> {
  const frames = lines.map((line) => {
    const text = formatLine(line);
    return `${Buffer.byteLength(text)} ${text}`;
  });
  const signal = AbortSignal.timeout(target.timeoutMs);
  try {
    return await unlessAborted(deliver(frames.join(""), target, signal), signal);
  } catch (error) {
    return gradeNetworkError(error);
  }
}

const usualPort = 6514;

async function deliver(frames: string, target: Target, signal: AbortSignal): Promise<Outcome> {
  const { address, reach } = target;
  const context = address.protocol === "tls:" ? readContext(target) : undefined;
  if (context === "unreadable") {
    return channelFault("its ca or its secret is no certificate, or no key with it, in PEM");
  }
  const host = address.hostname.replace(/^\[|\]$/g, "");
  const port = Number(address.port || usualPort);
  const plain = await connectTo(await reach.resolve(host, port), port, signal);
  try {
    const socket = context === undefined ? plain : await secure(plain, { host, context }, signal);
    if ("kind" in socket) return socket;
    await flush(socket, frames, signal);
    return { kind: "accepted" };
  } finally {
    plain.destroy();
  }
}

function readContext({ channel: { ca }, secret }: Target): SecureContext | "unreadable" {
  try {
    return createSecureContext({ ca, cert: secret, key: secret });
  } catch {
    return "unreadable";
  }
}

type Peer = { host: string; context: SecureContext };

/** Returns an outcome when the peer's certificate is not valid. */
async function secure(
  plain: Socket,
  { host, context }: Peer,
  signal: AbortSignal,
): Promise<TLSSocket | Outcome> {
  const socket = connectTls({
    ...{ socket: plain, host, secureContext: context, rejectUnauthorized: true },
    ...(isIP(host) === 0 && { servername: host }),
  });
  // `once` reports an error to its caller; one that occurs after that must not end the process.
  socket.on("error", () => {});
  try {
    await once(socket, "secureConnect", { signal });
    return socket;
  } catch (error) {
    const fault = socket.authorizationError;
    if (!fault) throw error;
    return channelFault(
      `the receiver's certificate is not valid (${fault}): it has to be for the host of url, ` +
        "and of an authority that Node knows, or that ca of the channel's row has",
    );
  }
}

/** Longer than a line takes to the receiver. */
const settleMs = 250;
/** A receiver has nothing to say. */
const mostReceived = 65_536;

/**
 * Sends all, and closes our side a moment later; then the receiver reads to the end, and closes its own. A reset, and an
 * end before ours, say that it has not: within the moment the end may be one from before the lines arrived.
 */
async function flush(socket: Socket, frames: string, signal: AbortSignal): Promise<void> {
  let isOver = false;
  let isRead = false;
  socket.once("end", () => {
    isRead = isOver;
  });
  const closed = once(socket, "close", { signal });
  let received = 0;
  socket.on("data", ({ length }: Buffer) => {
    received += length;
    if (received > mostReceived) socket.destroy();
  });
  socket.write(frames, async () => {
    await delay(settleMs);
    // An end that has arrived while this thread was busy is seen first.
    await setImmediate();
    isOver = true;
    socket.end();
  });
  await closed;
  if (!isRead) throw Object.assign(new Error("closed too early"), { code: "ECONNRESET" });
}
