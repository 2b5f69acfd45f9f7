/** PagerDuty's Events API v2 (developer.pagerduty.com/docs/send-alert-event). */
import { createHash } from "node:crypto";
import { z } from "zod";
import { rolloutKeyOf } from "#alerts/order.ts";
import { type Answer, type Outcome, transient } from "#alerts/outcome.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { isPage, parseJsonText } from "#kernel/body.ts";
import { readRetryAfter, toIso } from "#kernel/time.ts";
import type { ChannelMessage, Send } from "./message.ts";
import { postJson } from "./post.ts";
import { channelFault } from "./secrets.ts";
import { factsOf, headline, isFailure, linksOf, shorten } from "./words.ts";

export const sendToPagerDuty: Send<"pagerduty"> = async (delivery) => {
  const { channel, address, secret = "", message, timeoutMs, nowMs, reach } = delivery;
  const body = JSON.stringify({ routing_key: secret, ...renderPagerDuty(message, channel) });
  return gradePagerDuty(await postJson(address, { body, timeoutMs, reach }), nowMs);
};

/** PagerDuty's limits, in characters. A body of at most 512 KB follows from those of our own. */
const summaryLimit = 1_024;
const keyLimit = 255;
const detailLimit = 10_000;

type Terms = Pick<ChannelOf<"pagerduty">, "severity">;

/** The body without the routing key, which is secret. The same for every attempt at the same event. */
export function renderPagerDuty(message: ChannelMessage, { severity }: Terms): object {
  const { url } = message;
  const dedup_key = keyOf(message);
  if (!isFailure(message)) return { event_action: "resolve", dedup_key };
  return {
    event_action: "trigger",
    dedup_key,
    payload: {
      summary: shorten(headline(message), summaryLimit),
      severity: severityOf(message, severity),
      ...originOf(message),
      custom_details: detailsOf(message),
    },
    client: "Vedette",
    ...(url !== null && { client_url: url, links: linksOf(message) }),
  };
}

function originOf(message: ChannelMessage): object {
  if (message.kind === "notice") {
    const { fleet = "", event: component } = message.notice.rollout ?? {};
    const timestamp = toIso(message.atMs);
    return { source: fleet, timestamp, component, group: fleet, class: "rollout" };
  }
  const { checkId: source, name, environment: group, openedAtMs } = message;
  const component = shorten(name, summaryLimit);
  return { source, timestamp: toIso(openedAtMs), component, group, class: "check" };
}

function detailsOf(message: ChannelMessage): Record<string, string> {
  const facts = factsOf(message).map(({ name, text }) => [name.toLowerCase(), text]);
  return {
    ...(message.kind !== "notice" && { reason: shorten(message.reason, detailLimit) }),
    ...Object.fromEntries(facts),
    event_id: message.eventId,
  };
}

/** A longer one would be refused. Both events of an episode still have the same. */
function keyOf(message: ChannelMessage): string {
  if (message.kind === "notice") return rolloutKeyOf(message);
  const { dedupKey } = message;
  if (dedupKey.length <= keyLimit) return dedupKey;
  return createHash("sha256").update(dedupKey).digest("hex");
}

function severityOf(message: ChannelMessage, given: Terms["severity"]): string {
  if (message.isTest) return "info";
  if (message.kind === "notice") return given ?? "error";
  return given ?? (message.environment === "production" ? "critical" : "warning");
}

/** The documentation asks for 30 s to some minutes before the next attempt. */
const throttledMs = 30_000;
/** By an address that is not PagerDuty's, or that refuses the key. */
const ofChannel = new Set([401, 403, 404, 405, 410]);

export function gradePagerDuty({ status, retryAfter, body }: Answer, nowMs: number): Outcome {
  const cause = `status ${status}`;
  if (status >= 200 && status < 300) {
    if (!isPage(body)) return { kind: "accepted" };
    return { kind: "retry", cause: `${cause} with a page, not PagerDuty's own` };
  }
  if (ofChannel.has(status)) return channelFault(`PagerDuty refuses the key or the url: ${cause}`);
  if (status === 400 && isAboutKey(body)) {
    return channelFault(`PagerDuty refuses the routing key: ${cause}`);
  }
  if (isPassing(status)) {
    const askedMs = readRetryAfter(retryAfter, nowMs);
    const afterMs = askedMs ?? (status === 429 ? throttledMs : undefined);
    return { kind: "retry", cause, ...(afterMs !== undefined && { afterMs }) };
  }
  return { kind: "refused", cause };
}

/** A redirect is not followed. */
function isPassing(status: number): boolean {
  return status >= 500 || transient.has(status) || status < 400;
}

const Errors = z.object({ errors: z.array(z.string()) });

/** Its texts are not repeated: they may quote what was sent. */
function isAboutKey(body: string): boolean {
  const { data } = Errors.safeParse(parseJsonText(body));
  return data?.errors.some((text) => /routing[ _]key/i.test(text)) ?? false;
}
