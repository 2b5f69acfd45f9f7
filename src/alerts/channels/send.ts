/** One attempt to send an event to a channel, whatever its kind. */
import { topics } from "#alerts/contract.ts";
import { gradeNetworkError, type Outcome } from "#alerts/outcome.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { createReach, type Reach } from "#kernel/reach.ts";
import { catchMisdirected, MisdirectedSecret, type ReadSecret } from "#kernel/secrets.ts";
import { createSendEmail } from "./email/email.ts";
import type { ChannelMessage, SendToChannel } from "./message.ts";
import { createPacer, type Pace, type Pacer } from "./pacer.ts";
import { sendToPagerDuty } from "./pagerduty.ts";
import { channelFault, type Destination, findDestination } from "./secrets.ts";
import type { Send } from "./sender.ts";
import { sendToSlack } from "./slack.ts";
import { sendToWebhook } from "./webhook.ts";

type Parts = {
  readSecret: ReadSecret;
  /** The limit of an attempt, if the channel's row has none. */
  timeoutMs: number;
  nowMs: () => number;
  /** Between two attempts at a Slack webhook, by the settings. */
  slackSpacingMs?: number;
  pacer?: Pacer;
  /** The networks that channels may reach; absent: all but metadata services. */
  reach?: Reach;
};

/** The limits that services have, and for those without one what does not overload a server. */
const paces: Record<Exclude<DirectChannel["kind"], "slack">, Pace> = {
  // 120 a minute and key: 30 at once and 90 a minute stay below it.
  pagerduty: { spacingMs: 667, burst: 30, atOnce: 10 },
  webhook: { spacingMs: 0, burst: 1, atOnce: 10 },
  email: { spacingMs: 0, burst: 1, atOnce: 4 },
};

/**
 * Secrets are read at every attempt. It takes at most the attempt's limit and three seconds, which it may
 * wait for its turn at a destination; if that is not enough nothing is sent, and the outcome `isPaced`.
 */
export function createSendToChannel(parts: Parts): SendToChannel {
  const { readSecret, nowMs, pacer = createPacer(), reach = createReach() } = parts;
  const { slackSpacingMs = 1_000 } = parts;
  const slack = { spacingMs: 1.1 * slackSpacingMs, burst: 1, atOnce: 4 };
  /** After the end of an attempt: requests do not all take equally long. */
  const rests = { webhook: 0, email: 0, pagerduty: 0, slack: slackSpacingMs };
  // The webhooks of the settings are the operator's own, and may lead into any network.
  const open = createReach();
  const senders: Senders = {
    slack: sendToSlack,
    webhook: sendToWebhook,
    email: createSendEmail(),
    pagerduty: sendToPagerDuty,
  };
  const reachOf = ({ id }: DirectChannel) => (topics.some((topic) => topic === id) ? open : reach);
  return async (channel, message) => {
    const found = readDestination(channel, readSecret);
    if ("kind" in found) return found;
    const key = destinationKey(channel, found);
    const turn = await pacer.take(key, { ...paces, slack }[channel.kind]);
    if ("afterMs" in turn) return { ...paced, afterMs: turn.afterMs };
    const timeoutMs = channel.timeoutSeconds ? channel.timeoutSeconds * 1_000 : parts.timeoutMs;
    try {
      const terms = {
        ...found,
        channel,
        message,
        timeoutMs,
        nowMs: nowMs(),
        reach: reachOf(channel),
      };
      const outcome = await sendBy(senders, terms);
      if (outcome.kind === "retry" && outcome.afterMs !== undefined) {
        pacer.hold(key, outcome.afterMs);
      }
      return outcome;
    } catch (error) {
      return gradeNetworkError(error);
    } finally {
      pacer.hold(key, rests[channel.kind]);
      turn.release();
    }
  };
}

function readDestination(channel: DirectChannel, readSecret: ReadSecret): Destination | Outcome {
  const found = catchMisdirected(() => findDestination(channel, readSecret));
  return found instanceof MisdirectedSecret ? channelFault(found.message) : found;
}

const paced: Outcome & { kind: "retry" } = {
  kind: "retry",
  cause: "waits for its turn: many events go to this channel",
  isPaced: true,
};

/** PagerDuty has one address for all keys. */
function destinationKey({ kind }: DirectChannel, { address, secret }: Destination): string {
  return kind === "pagerduty" ? `${address.href} ${secret}` : address.href;
}

type Senders = { [Kind in DirectChannel["kind"]]: Send<Kind> };

type Terms = Destination & {
  channel: DirectChannel;
  message: ChannelMessage;
  timeoutMs: number;
  nowMs: number;
  reach: Reach;
};

function sendBy(senders: Senders, { channel, ...terms }: Terms): Promise<Outcome> {
  switch (channel.kind) {
    case "slack":
      return senders.slack({ ...terms, channel });
    case "webhook":
      return senders.webhook({ ...terms, channel });
    case "email":
      return senders.email({ ...terms, channel });
    case "pagerduty":
      return senders.pagerduty({ ...terms, channel });
  }
}
