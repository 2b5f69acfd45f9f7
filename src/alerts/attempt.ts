/** One attempt to deliver an event: a request with a time limit, and what its answer means. */
import type { FindChannel, SendToChannel } from "#alerts/channels/message.ts";
import { withoutSecret } from "#kernel/body.ts";
import { Agent } from "#kernel/http.ts";
import { postJson } from "./channels/post.ts";
import { toMessage } from "./channels/to-message.ts";
import { type Environment, topics } from "./contract.ts";
import type { NoticeOrder, Order } from "./order.ts";
import {
  type Answer,
  gradeAnswer,
  gradeNetworkError,
  maskOutcome,
  type Outcome,
} from "./outcome.ts";
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

export function createAttempt(parts: AttemptParts): Attempt {
  const { linkTo, send, findChannel } = parts;
  const postToSource = createPostToSource(parts);
  return async (order) => {
    if ("notice" in order) return postNotice(order, { ...parts, postToSource });
    if (order.channel !== null) return postToSource(order, order.channel);
    // The row in force, so that an address that was corrected is used for what waits.
    const found = await findChannel(order.target.id);
    const isRemoved = found === "removed" || found?.kind === "incident";
    const channel = isRemoved ? order.target : (found ?? order.target);
    const outcome = maskOutcome(await send(channel, toMessage(order, linkTo)));
    return isRemoved ? gradeRemoved(outcome, Date.now() - order.transition.atMs) : outcome;
  };
}

type NoticeParts = AttemptParts & { postToSource: ReturnType<typeof createPostToSource> };

async function postNotice(order: NoticeOrder, parts: NoticeParts): Promise<Outcome> {
  const { findChannel, postToSource, send, linkTo } = parts;
  const { channel: id, topic } = order;
  // Its address is a secret, and so no part of the order.
  const own = { id, kind: "slack" as const, url: parts.webhookUrlOf(topic) };
  const found = topics.some((one) => one === id) ? own : await findChannel(id);
  if (found === undefined) return { kind: "retry", cause: "the channels cannot be read" };
  if (found === "removed") return { kind: "unconfigured", cause: `there is no channel ${id}` };
  if (found.kind === "incident") return postToSource(order, found.environment);
  if (found.url === "") return { kind: "unconfigured", cause: "no webhook is set" };
  return maskOutcome(await send(found, toMessage(order, linkTo)));
}

/** The time after an event for which it is still tried at a removed channel: most get the recovery. */
const removedPatienceMs = 60 * 60_000;

/** Nobody repairs a channel that was removed, often because it was broken: its events must not remain. */
function gradeRemoved(outcome: Outcome, ageMs: number): Outcome {
  const isLost =
    outcome.kind === "refused" || (outcome.kind === "retry" && ageMs > removedPatienceMs);
  if (!isLost) return outcome;
  return { kind: "unconfigured", cause: `the channel was removed: ${outcome.cause}` };
}

/** To the alert source of an environment at the incident service. */
function createPostToSource({ sourceOf, linkTo, timeoutMs }: AttemptParts) {
  const agent = new Agent({ connect: { timeout: timeoutMs } });
  return async (order: Order, environment: Environment): Promise<Outcome> => {
    const source = sourceOf(environment);
    if (source === undefined) return { kind: "unconfigured" };
    const body = JSON.stringify(renderEvent(order, { kind: source.kind, linkTo, environment }));
    const token = readToken(source);
    if (token === undefined) return { kind: "retry", cause: "the token file cannot be read" };
    const post = (secret: string) =>
      postJson(new URL(source.url), {
        headers: { authorization: `Bearer ${secret}` },
        body,
        timeoutMs,
        reach: { agent },
      })
        .then((answer) => gradeAnswer(withoutToken(answer, secret), Date.now()))
        .catch(gradeNetworkError);
    const outcome = await post(token);
    if (!("isTokenRefused" in outcome)) return outcome;
    // The token was replaced while this attempt ran: try once more with the new one.
    const newToken = readToken(source);
    return newToken === undefined || newToken === token ? outcome : post(newToken);
  };
}

/** Its codes and ids may be the token, which a proxy repeats. */
function withoutToken({ body, ...answer }: Answer, token: string): Answer {
  return { ...answer, body: withoutSecret(Buffer.from(body), token).toString() };
}

function readToken(source: Source): string | undefined {
  try {
    return source.readToken();
  } catch {
    return undefined;
  }
}
