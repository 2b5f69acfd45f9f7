/** A webhook of any receiver, as Standard Webhooks 1.0.0 has it (github.com/standard-webhooks): events, and questions. */
import { createHmac } from "node:crypto";
import { rolloutKeyOf } from "#alerts/order.ts";
import { type Answer, gradeNetworkError, type Outcome, wordsOf } from "#alerts/outcome.ts";
import type { RolloutNote } from "#alerts/payload.ts";
import type { ChannelOf, DirectChannel } from "#alerts/rows/contract.ts";
import { viewSuspect } from "#blame/contract.ts";
import { withoutSecret } from "#kernel/body.ts";
import type { Reach } from "#kernel/reach.ts";
import type { ReadSecret } from "#kernel/secrets.ts";
import { readRetryAfter, toIso } from "#kernel/time.ts";
import {
  type AlertMessage,
  type ChannelMessage,
  limitOf,
  type NoticeMessage,
  type Send,
} from "./message.ts";
import { postJson } from "./post.ts";
import { channelFault, type Destination, readDestination, tellingTexts } from "./secrets.ts";
import { headline, shorten } from "./words.ts";

export const sendToWebhook: Send<"webhook"> = async (delivery) => {
  const { address, secret, message, timeoutMs, nowMs, reach } = delivery;
  const body = JSON.stringify(renderWebhook(message));
  const keys = secret === undefined ? [] : readKeys(secret);
  if (keys === undefined) {
    return channelFault("the secret has to be whsec_ and base64, of at least 16 bytes");
  }
  const headers = signatureOf(body, { id: idOf(message), keys, nowMs });
  return gradeWebhook(await postJson(address, { headers, body, timeoutMs, reach }), nowMs);
};

/** Texts of peers have no limit of their own: a body should stay below 20 KB. */
const textLength = 2_000;
const mostPlaces = 100;

/** The kind of event: `alert.firing`, `rollout.paused`. */
export function typeOf(message: ChannelMessage): string {
  if (message.kind !== "notice") return message.isTest ? "alert.test" : `alert.${message.kind}`;
  const { event = "" } = message.notice.rollout ?? {};
  return `rollout.${event.replace(/^rollout /, "").replaceAll(" ", "_")}`;
}

/** The same for every attempt at the same event. */
export function renderWebhook(message: ChannelMessage): object {
  if (message.kind === "notice") return renderNotice(message);
  const { kind, eventId, atMs, openedAtMs, reason, endedBecause, rollout, changes } = message;
  return {
    id: idOf(message),
    type: typeOf(message),
    timestamp: toIso(atMs),
    data: {
      check: message.checkId,
      name: message.name,
      environment: message.environment,
      status: kind,
      episode: message.episode,
      sequence: sequenceOf(message),
      dedup_key: message.dedupKey,
      event_id: eventId,
      summary: headline(message),
      reason: shorten(reason, textLength),
      since: toIso(openedAtMs),
      locations: message.locations.slice(0, mostPlaces).map((place) => shorten(place, 100)),
      missed_pings: message.missedPings,
      ended_because: endedBecause === null ? null : shorten(endedBecause, textLength),
      rollout: rollout && toData(rollout),
      ...(changes !== undefined && { changes: changes.map(viewSuspect) }),
      url: message.url,
    },
  };
}

function renderNotice(message: NoticeMessage): object {
  const { eventId, atMs, notice, url } = message;
  const { title, tone, lines, fields, rollout } = notice;
  const { id, fleet, event = "" } = rollout ?? {};
  return {
    id: idOf(message),
    type: typeOf(message),
    timestamp: toIso(atMs),
    data: {
      rollout: id,
      fleet,
      event,
      ...Object.fromEntries(fields.slice(0, 2).map((one) => [one.name.toLowerCase(), one.value])),
      tone,
      title,
      lines: lines.map((line) => shorten(line, textLength)),
      dedup_key: rolloutKeyOf(message),
      event_id: eventId,
      summary: shorten(headline(message), textLength),
      url,
    },
  };
}

function toData({ endedAtMs, ...rollout }: RolloutNote) {
  return { ...rollout, ended_at: endedAtMs === null ? null : toIso(endedAtMs) };
}

const mostJoinings = 1_000;

/** Returns a number that grows with each event: a receiver may drop lower ones. */
function sequenceOf({ kind, episode, joining }: AlertMessage): number {
  const failure = episode * mostJoinings + Math.min(joining, mostJoinings - 1);
  return 2 * failure + (kind === "firing" ? 0 : 1);
}

/** The signed text is `id.timestamp.body`: the id must not have a dot. */
function idOf({ eventId }: ChannelMessage): string {
  return eventId.replaceAll(".", "_");
}

type SignatureTerms = { id: string; keys: readonly Buffer[]; nowMs: number };

/** One signature for each key: during a rotation the receiver knows the old one or the new one. */
export function signatureOf(
  body: string,
  { id, keys, nowMs }: SignatureTerms,
): Record<string, string> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = keys.map((key) => {
    const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
    return `v1,${digest}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    ...(signatures.length > 0 && { "webhook-signature": signatures.join(" ") }),
  };
}

/** A shorter key can be guessed; the specification has 24 to 64 bytes. */
const fewestBytes = 16;

/** The keys in a secret, separated by spaces; undefined: one of them is no key. */
export function readKeys(secret: string): Buffer[] | undefined {
  const words = secret.split(/\s+/).filter((word) => word !== "");
  const keys = words.map((word) => {
    const [, base64 = ""] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(word) ?? [];
    return Buffer.from(base64, "base64");
  });
  return keys.length === 0 || keys.some((key) => key.length < fewestBytes) ? undefined : keys;
}

/** Most of 4xx may be a deploy in progress at the receiver: only 413 is about this event. */
export function gradeWebhook({ status, retryAfter }: Answer, nowMs: number): Outcome {
  if (status >= 200 && status < 300) return { kind: "accepted" };
  const cause = `status ${status}`;
  if (status === 410) return channelFault(`${cause}: the receiver says that it is gone`);
  if (status === 401 || status === 403) {
    return channelFault(`${cause}: the receiver refuses the signature or the address`);
  }
  if (status === 413) return { kind: "refused", cause };
  if (status >= 300 && status < 400) {
    return { kind: "retry", cause: `${cause}: a redirect, which is not followed` };
  }
  const afterMs = readRetryAfter(retryAfter, nowMs);
  return { kind: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
}

export type QuestionParts = {
  /** The channels of the definitions in force. */
  readChannels: () => Promise<readonly (DirectChannel | { id: string; kind: "incident" })[]>;
  readSecret: ReadSecret;
  /** The limit of a question, if the channel's row has none. */
  timeoutMs: number;
  nowMs: () => number;
  reach: Reach;
};

/** `body`: JSON; `id`: without a dot, the same when the question is repeated. */
type Question = { id: string; body: string };

/** `error`: why there is no answer, without address and secret. */
type Reply = { status: number; body: string } | { error: string };

/** Asks a channel of this kind a question, signed as its events are, and returns what it answers. */
export function createAskWebhook({ readChannels, ...parts }: QuestionParts) {
  return async (id: string, question: Question): Promise<Reply> => {
    const channel = (await readChannels()).find((row) => row.id === id);
    if (channel?.kind === "webhook") return askChannel(question, { ...parts, channel });
    return { error: `there is no channel ${id} of the kind webhook` };
  };
}

type AskParts = Omit<QuestionParts, "readChannels"> & { channel: ChannelOf<"webhook"> };

/** Asks the channel. The answer is without its secrets. */
export async function askChannel(question: Question, parts: AskParts): Promise<Reply> {
  const { channel, readSecret } = parts;
  const found = readDestination(channel, readSecret);
  if ("kind" in found) return { error: wordsOf(found) ?? found.kind };
  const answer = await postQuestion(question, found, parts);
  if ("error" in answer) return answer;
  // It is stored and shown, and may repeat what was sent.
  const telling = tellingTexts(channel, found, readSecret);
  return { ...answer, body: telling.reduce(withoutSecret, Buffer.from(answer.body)).toString() };
}

async function postQuestion(
  { id, body }: Question,
  { address, secret }: Destination,
  { channel, nowMs, reach, ...parts }: AskParts,
): Promise<Reply> {
  const keys = secret === undefined ? [] : readKeys(secret);
  if (keys === undefined) return { error: "its secret is no key of Standard Webhooks" };
  const headers = signatureOf(body, { id, keys, nowMs: nowMs() });
  const timeoutMs = limitOf(channel, parts.timeoutMs);
  try {
    return await postJson(address, { headers, body, timeoutMs, reach });
  } catch (error) {
    return { error: wordsOf(gradeNetworkError(error)) ?? "not reached" };
  }
}
