/** Asks a channel of the kind webhook a question, signed as its events are, and returns what it answers. */
import { gradeNetworkError, wordsOf } from "#alerts/outcome.ts";
import type { ChannelOf, DirectChannel } from "#alerts/rows/contract.ts";
import { withoutSecret } from "#kernel/body.ts";
import type { Reach } from "#kernel/reach.ts";
import { catchMisdirected, MisdirectedSecret, type ReadSecret } from "#kernel/secrets.ts";
import { postJson } from "./post.ts";
import { type Destination, findDestination, tellingTexts } from "./secrets.ts";
import { readKeys, signatureOf } from "./webhook.ts";

type Parts = {
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
type Answer = { status: number; body: string } | { error: string };

export function createAskWebhook({ readChannels, ...parts }: Parts) {
  return async (id: string, question: Question): Promise<Answer> => {
    const channel = (await readChannels()).find((row) => row.id === id);
    if (channel?.kind !== "webhook") {
      return { error: `there is no channel ${id} of the kind webhook` };
    }
    const found = catchMisdirected(() => findDestination(channel, parts.readSecret));
    if (found instanceof MisdirectedSecret) return { error: found.message };
    if ("kind" in found) return { error: wordsOf(found) ?? found.kind };
    const answer = await post(question, found, { ...parts, channel });
    if ("error" in answer) return answer;
    // It is stored and shown, and may repeat what was sent.
    const telling = tellingTexts(channel, found, parts.readSecret);
    return { ...answer, body: telling.reduce(withoutSecret, Buffer.from(answer.body)).toString() };
  };
}

async function post(
  { id, body }: Question,
  { address, secret }: Destination,
  {
    channel,
    nowMs,
    reach,
    ...parts
  }: Omit<Parts, "readChannels"> & { channel: ChannelOf<"webhook"> },
): Promise<Answer> {
  const keys = secret === undefined ? [] : readKeys(secret);
  if (keys === undefined) return { error: "its secret is no key of Standard Webhooks" };
  const headers = signatureOf(body, { id, keys, nowMs: nowMs() });
  const timeoutMs = channel.timeoutSeconds ? channel.timeoutSeconds * 1_000 : parts.timeoutMs;
  try {
    return await postJson(address, { headers, body, timeoutMs, reach });
  } catch (error) {
    return { error: wordsOf(gradeNetworkError(error)) ?? "not reached" };
  }
}
