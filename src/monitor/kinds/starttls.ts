/** Speaks on a plain connection until TLS may start on it. */
import type { Socket } from "node:net";
import { show } from "./assertions.ts";
import { ProbeFault } from "./observe.ts";

/** The protocols in which a plain connection starts TLS. */
export const startTlsProtocols = ["smtp", "imap", "postgres"] as const;
export type StartTlsProtocol = (typeof startTlsProtocols)[number];

/** Sends, if not empty, and reads what is answered up to where `end` matches. */
type Ask = (request: string | Buffer, end: RegExp) => Promise<string>;

/** Throws a `ProbeFault` if the server does not continue with TLS. The caller limits the time, and destroys the socket. */
export async function startTls(socket: Socket, protocol: StartTlsProtocol): Promise<void> {
  await dialogs[protocol]((request, end) => {
    if (request.length > 0) socket.write(request);
    return readReply(socket, end);
  }, socket);
}

const dialogs: Record<StartTlsProtocol, (ask: Ask, socket: Socket) => Promise<void>> = {
  smtp: async (ask, { localAddress = "", localFamily }) => {
    requireReply(await ask("", smtpEnd), /^220/);
    const literal = localFamily === "IPv6" ? `IPv6:${localAddress}` : localAddress;
    const hello = await ask(`EHLO [${literal}]\r\n`, smtpEnd);
    requireReply(hello, /^250/);
    if (!/^250[- ]STARTTLS\s*$/im.test(hello)) {
      throw new ProbeFault("the server offers no STARTTLS");
    }
    requireReply(await ask("STARTTLS\r\n", smtpEnd), /^220/);
  },
  imap: async (ask) => {
    requireReply(await ask("", /\n[\s\S]*$/), /^\* OK\b/i);
    const reply = await ask("a1 STARTTLS\r\n", /^a1 .*\r?\n/im);
    requireReply(/^a1 .*/im.exec(reply)?.[0] ?? reply, /^a1 OK\b/i);
  },
  postgres: async (ask) => {
    // An SSLRequest: its length, and a number in the place of the protocol's version.
    const reply = await ask(Buffer.from("0000000804d2162f", "hex"), /^[^E]|^E[\s\S]+$/);
    if (reply === "N") throw new ProbeFault("the server offers no TLS");
    // The message alone is taken of an error, which has many fields.
    requireReply(/\0M([^\0]+)/.exec(reply)?.[1] ?? reply, /^S$/);
  },
};

/** A reply may have several lines; the last one has no hyphen after its code (RFC 5321, section 4.2.1). */
const smtpEnd = /^\d{3}(?: .*)?\r?\n/m;

function requireReply(reply: string, good: RegExp): void {
  if (good.test(reply)) return;
  throw new ProbeFault(
    `the server does not start TLS, but answers ${show(Buffer.from(reply.trim(), "latin1").toString())}`,
  );
}

const longestReply = 16_384;

async function readReply(socket: Socket, end: RegExp): Promise<string> {
  let reply = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    reply += (chunk as Buffer).toString("latin1");
    if (isWhole(reply, end)) return reply;
    if (reply.length > longestReply) throw new ProbeFault("the server's answer has no end");
  }
  throw new ProbeFault("connection closed before TLS started");
}

/** Nothing may follow a reply before the next request: it would be read as if TLS protected it. */
function isWhole(reply: string, end: RegExp): boolean {
  const match = end.exec(reply);
  if (match === null) return false;
  if (match.index + match[0].length === reply.length) return true;
  throw new ProbeFault("the server sends more than its answer before TLS starts");
}
