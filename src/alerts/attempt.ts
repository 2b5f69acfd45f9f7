/** One attempt to deliver an event: a request with a time limit, and what its answer means. */
import { readBeginning } from "#kernel/body.ts";
import { Agent, request } from "#kernel/http.ts";
import type { FindChannel, SendToChannel } from "./channels/message.ts";
import { toMessage, toNoticeMessage } from "./channels/to-message.ts";
import type { Environment } from "./contract.ts";
import type { NoticeOrder, Order, RoutedOrder } from "./order.ts";
import { judgeAnswer, judgeNetworkError, maskOutcome, type Outcome } from "./outcome.ts";
import { type LinkTo, renderEvent } from "./payload.ts";
import type { Source, SourceOf } from "./source.ts";

/** Delivers once. Never throws; the outcome never contains a token. */
export type Attempt = (order: Order) => Promise<Outcome>;

type AttemptParts = {
  sourceOf: SourceOf;
  linkTo: LinkTo;
  timeoutMs: number;
  send: SendToChannel;
  findChannel: FindChannel;
  /** The Slack webhook that the settings name for the key of a topic; empty: none. */
  webhookUrlOf: (topicKey: string) => string;
};

/** No more of an answer is read: its error codes are at the beginning. */
const readBytes = 16_384;

export function createAttempt(parts: AttemptParts): Attempt {
  const { linkTo, send, findChannel } = parts;
  const postToSource = createPostToSource(parts);
  return async (order) => {
    if ("notice" in order) return postNotice(order, parts);
    if (order.channel !== null) return postToSource(order);
    // The row in force, so that an address that was corrected is used for what waits.
    const found = await findChannel(order.target.id);
    const isRemoved = found === "removed";
    const channel = isRemoved ? order.target : (found ?? order.target);
    const outcome = maskOutcome(await send(channel, toMessage(order, linkTo)));
    return isRemoved ? judgeRemoved(outcome, Date.now() - order.transition.atMs) : outcome;
  };
}

/** Its address is a secret, and so no part of the order. */
async function postNotice(order: NoticeOrder, parts: AttemptParts): Promise<Outcome> {
  const url = parts.webhookUrlOf(order.topic);
  if (url === "") return { kind: "unconfigured", cause: "no webhook is set" };
  const channel = { id: order.channel, kind: "slack" as const, url };
  return maskOutcome(await parts.send(channel, toNoticeMessage(order, parts.linkTo)));
}

/** So long after an event it is still tried at a channel that was removed: most get the recovery. */
const removedPatienceMs = 60 * 60_000;

/** Nobody repairs a channel that was removed, often because it was broken: its events must not remain. */
function judgeRemoved(outcome: Outcome, ageMs: number): Outcome {
  const isLost =
    outcome.kind === "refused" || (outcome.kind === "retry" && ageMs > removedPatienceMs);
  if (!isLost) return outcome;
  return { kind: "unconfigured", cause: `the channel was removed: ${outcome.cause}` };
}

/** To the alert source of an environment at the incident service. */
function createPostToSource({ sourceOf, linkTo, timeoutMs }: AttemptParts) {
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  return async (order: RoutedOrder & { channel: Environment }): Promise<Outcome> => {
    const source = sourceOf(order.channel);
    if (source === undefined) return { kind: "unconfigured" };
    const body = JSON.stringify(renderEvent(order, { kind: source.kind, linkTo }));
    const token = readToken(source);
    if (token === undefined) return { kind: "retry", cause: "the token file cannot be read" };
    const post = (secret: string) =>
      postOnce(source.url, { token: secret, body, agent, timeoutMs }).catch(judgeNetworkError);
    const outcome = await post(token);
    if (!("isTokenRefused" in outcome)) return outcome;
    // The token was replaced while this attempt ran: try once more with the new one.
    const newToken = readToken(source);
    return newToken === undefined || newToken === token ? outcome : post(newToken);
  };
}

function readToken(source: Source): string | undefined {
  try {
    return source.readToken();
  } catch {
    return undefined;
  }
}

type Post = { token: string; body: string; agent: Agent; timeoutMs: number };

async function postOnce(url: string, { token, body, agent, timeoutMs }: Post): Promise<Outcome> {
  const {
    statusCode,
    headers,
    body: answer,
  } = await request(url, {
    method: "POST",
    dispatcher: agent,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    },
    body,
    // Bounds the whole request, including an answer that arrives byte by byte.
    signal: AbortSignal.timeout(timeoutMs),
  });
  const retryAfter = [headers["retry-after"]].flat()[0] ?? null;
  // Also read when the answer is too long, hangs or breaks off: a login page must be recognized.
  const beginning = await readBeginning(answer, readBytes);
  const text = new TextDecoder().decode(beginning);
  return judgeAnswer({ status: statusCode, retryAfter, body: text }, Date.now());
}
