/** E-mail by SMTP: a mail of its own for each recipient, so that each has an outcome of its own. */
import type { Socket } from "node:net";
import { Duplex, pipeline, Transform } from "node:stream";
import { LRUCache } from "lru-cache";
import { createTransport } from "nodemailer";
import type { Delivery, Send } from "#alerts/channels/sender.ts";
import { connectTo } from "#kernel/reach.ts";
import { unlessAborted } from "#kernel/unless-aborted.ts";
import { combineOutcomes, gradeMailError, type MailOutcome } from "./grade.ts";
import { renderMail } from "./mail.ts";
import { serverOf } from "./server.ts";

/**
 * Greylisting lets a mail through after some minutes. After that time those who have the event must not
 * wait any longer for the next one.
 */
const patienceMs = 10 * 60_000;
const mostRemembered = 10_000;

/** The recipients of an event and its time, so that a retry for others is no second mail for these. */
type Receipt = { sinceMs: number; ids: Set<string> };

/**
 * Remembers accepted mails in this process alone: after a restart a mail may be sent again, with the same Message-ID.
 */
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

/**
 * A connection that breaks off when the server says more than any has to: nodemailer keeps all lines, and is busy with
 * them long after the attempt.
 */
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
