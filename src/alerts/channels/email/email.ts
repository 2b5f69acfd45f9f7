/** E-mail by SMTP: a mail of its own for each recipient, so that each has an outcome of its own. */
import type { Socket } from "node:net";
import { Duplex, pipeline, Transform } from "node:stream";
import { LRUCache } from "lru-cache";
import { createTransport } from "nodemailer";
import { z } from "zod";
import type { Delivery, Send } from "#alerts/channels/message.ts";
import { credentialsIn, type Destination } from "#alerts/channels/secrets.ts";
import type { Outcome } from "#alerts/outcome.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { isLoopback } from "#kernel/address.ts";
import { unlessAborted } from "#kernel/async.ts";
import { connectTo } from "#kernel/reach.ts";
import { renderMail } from "./mail.ts";

// Grades a mail server's answers for one recipient, and for all of an event's recipients together.

/** The outcome of one recipient's mail. `cause` has codes only: a server's words may quote anything. */
export type MailOutcome =
  | { kind: "taken" }
  | { kind: "refused"; cause: string }
  | { kind: "retry"; cause: string; isChannelFault?: true };

const MailError = z.object({
  code: z.string().optional().catch(undefined),
  originalCode: z.string().optional().catch(undefined),
  responseCode: z.int().optional().catch(undefined),
  response: z.string().optional().catch(undefined),
  command: z.string().optional().catch(undefined),
});
type MailError = z.infer<typeof MailError>;

/** Without credentials or with wrong ones; 454 and the like are passing faults. */
const credentialCodes = new Set([530, 534, 535, 538]);
/** The session is out of step: a new connection helps. */
const outOfStep = 503;
/** Only of these commands is a refusal about the recipient or the mail. */
const ofMail = new Set(["RCPT TO", "DATA"]);

/** Only the server's code decides: nodemailer's own is the same for passing and for lasting faults. */
export function gradeMailError(error: unknown): MailOutcome {
  const { data = {} } = MailError.safeParse(error);
  const { responseCode: code, command } = data;
  if (code === undefined) {
    const isFault = data.code === "EAUTH";
    const cause = `not sent: ${data.originalCode ?? data.code ?? "unknown error"}`;
    return { kind: "retry", cause, ...(isFault && { isChannelFault: true as const }) };
  }
  const cause = describe(data);
  const isLasting = code >= 500 && code !== outOfStep;
  if (!isLasting) return { kind: "retry", cause };
  if (ofMail.has(command ?? "") && !credentialCodes.has(code)) return { kind: "refused", cause };
  return { kind: "retry", cause, isChannelFault: true };
}

/** `status 550 5.1.1 of RCPT TO` */
function describe({ responseCode, response = "", command }: MailError): string {
  const [, enhanced] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response) ?? [];
  const codes = enhanced === undefined ? "" : ` ${enhanced}`;
  return `status ${responseCode}${codes}${isCommand(command) ? ` of ${command}` : ""}`;
}

function isCommand(command: string | undefined): boolean {
  return command !== undefined && /^[A-Z][A-Z0-9 -]{1,30}$/.test(command);
}

/** One outcome of all recipients, in the row's order. While `isPatient`, those whom it has not reached get it again. */
export function combineOutcomes(fates: readonly MailOutcome[], isPatient: boolean): Outcome {
  const open = fates.filter((fate) => fate.kind === "retry");
  const isSomeTaken = fates.some(({ kind }) => kind === "taken");
  const words = fates.flatMap((fate, i) => wordsOf(fate, { at: i + 1, count: fates.length }));
  const cause = words.slice(0, mostNamed).join("; ");
  const [first] = open;
  if (first !== undefined && (!isSomeTaken || isPatient)) {
    const isFault = !isSomeTaken && open.some(({ isChannelFault }) => isChannelFault);
    return { kind: "retry", cause, ...(isFault && { isChannelFault: true as const }) };
  }
  if (!isSomeTaken) return { kind: "refused", cause };
  return { kind: "accepted", ...(cause !== "" && { remark: cause }) };
}

const mostNamed = 5;

/** Recipients are counted, not named: a cause is logged. */
function wordsOf(fate: MailOutcome, { at, count }: { at: number; count: number }): string[] {
  if (fate.kind === "taken") return [];
  const refused = fate.kind === "refused" ? "refused: " : "";
  return [`${count === 1 ? "" : `recipient ${at} of ${count} `}${refused}${fate.cause}`];
}

// Finds out how to reach the mail server of a channel.

type Terms = Destination & { channel: ChannelOf<"email">; timeoutMs: number };

/** A few, since servers limit them; a mail waits for one of them. */
const connections = 3;

/** A password is sent over verified TLS only, except to this machine. Without one, TLS without a valid certificate will do. */
export function serverOf({ address, secret, channel, timeoutMs }: Terms) {
  const isSecure = address.protocol === "smtps:";
  const isLocal = isLoopback(address.hostname);
  const auth = credentialsOf({ address, secret, channel });
  const isStrict = !isLocal && (isSecure || channel.tls === "required" || auth !== undefined);
  return {
    pool: true,
    maxConnections: connections,
    // The queue of the event retries: here nothing is repeated.
    maxRequeues: 0,
    host: address.hostname.replace(/^\[|\]$/g, ""),
    port: address.port === "" ? (isSecure ? 465 : 587) : Number(address.port),
    secure: isSecure,
    requireTLS: isStrict && !isSecure,
    tls: { rejectUnauthorized: isStrict },
    ...(auth !== undefined && { auth }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    socketCloseTimeout: 500,
    logger: false,
  };
}

function credentialsOf({ address, secret, channel }: Omit<Terms, "timeoutMs">) {
  const given = credentialsIn(address);
  const user = channel.user ?? given.user;
  const pass = secret ?? given.password;
  return user === "" && pass === "" ? undefined : { user, pass };
}

/** Greylisting lets a mail through after some minutes; then those who have the event wait for no one any longer. */
const patienceMs = 10 * 60_000;
const mostRemembered = 10_000;

/** The recipients of an event and its time, so that a retry for others is no second mail for these. */
type Receipt = { sinceMs: number; ids: Set<string> };

/** Remembers accepted mails in this process: after a restart one may be sent again, with the same Message-ID. */
export function createSendEmail(): Send<"email"> {
  const remembered = new LRUCache<string, Receipt>({ max: mostRemembered });
  return async (delivery) => {
    const { channel, message, nowMs } = delivery;
    const key = `${channel.id} ${message.eventId}`;
    const taken = remembered.get(key) ?? { sinceMs: nowMs, ids: new Set<string>() };
    const fates = await sendAll(delivery, taken.ids);
    const outcome = combineOutcomes(fates, nowMs - taken.sinceMs < patienceMs);
    if (outcome.kind === "retry" && taken.ids.size > 0) remembered.set(key, taken);
    else remembered.delete(key);
    return outcome;
  };
}

/** Adds to `taken` the ids of the mails that the server has taken. */
async function sendAll(delivery: Delivery<"email">, taken: Set<string>): Promise<MailOutcome[]> {
  const { channel, message, timeoutMs, reach } = delivery;
  const server = serverOf(delivery);
  const signal = AbortSignal.timeout(timeoutMs);
  const found = await unlessAborted(reach.resolve(server.host, server.port), signal);
  const transport = createTransport({
    ...server,
    getSocket: (_options, callback) => {
      connectTo(found, server.port, signal).then(
        (connection) => callback(null, { connection: boundAnswers(connection) }),
        callback,
      );
    },
  });
  const sendOne = async (to: string): Promise<MailOutcome> => {
    const mail = renderMail(message, channel, to);
    if (taken.has(mail.messageId)) return { kind: "taken" };
    try {
      await transport.sendMail({ ...mail, signal });
      taken.add(mail.messageId);
      return { kind: "taken" };
    } catch (error) {
      return gradeMailError(error);
    }
  };
  try {
    return await Promise.all(channel.to.map(sendOne));
  } finally {
    transport.close();
  }
}

/** A session takes a few KB, with the certificates. */
const mostAnswered = 65_536;

/** Breaks off when the server says more than any has to: nodemailer keeps all lines, and stays busy with them. */
function boundAnswers(connection: Socket): Socket {
  let answered = 0;
  const answers = new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      answered += chunk.length;
      done(answered > mostAnswered ? new Error("too long an answer") : null, chunk);
    },
  });
  pipeline(connection, answers, () => {});
  const bounded = Duplex.from({ readable: answers, writable: connection } as never);
  // The only method of a socket that nodemailer calls is this one; the attempt has a time limit.
  return Object.assign(bounded, { setTimeout: () => bounded }) as unknown as Socket;
}
