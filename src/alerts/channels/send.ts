/** One attempt to send an event to a channel, whatever its kind. */
import { performance } from "node:perf_hooks";
import { LRUCache } from "lru-cache";
import { createSendEmail } from "#alerts/channels/email/email.ts";
import { topics } from "#alerts/contract.ts";
import { gradeNetworkError, type Outcome } from "#alerts/outcome.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { createReach, type Reach } from "#kernel/reach.ts";
import type { ReadSecret } from "#kernel/secrets.ts";
import { limitOf, type Send, type SendToChannel } from "./message.ts";
import { sendToPagerDuty } from "./pagerduty.ts";
import { type Destination, readDestination } from "./secrets.ts";
import { sendToSlack } from "./slack.ts";
import { sendToSyslog } from "./syslog.ts";
import { sendToWebhook } from "./webhook.ts";

/**
 * Limits how much a destination gets at once. The order of a check's events is kept by its own queue: here
 * events of many checks wait for a moment, and are sent back to their queues if that is not enough. It
 * counts within one process; what several send together is limited by the destination's own answers.
 */
export type Pace = {
  /** The time from one attempt to the next, on average; 0: any. */
  spacingMs: number;
  /** The number of attempts that may follow each other at once after a pause. */
  burst: number;
  /** The number of attempts that may run at the same time. */
  atOnce: number;
};

/** `release` is to be called when the attempt has ended. `afterMs`: try again then, nothing may be sent now. */
type Turn = { release: () => void } | { afterMs: number };

type Pacer = {
  /** Waits `patienceMs` at most. */
  take: (destination: string, pace: Pace) => Promise<Turn>;
  /** Nothing is sent there for so long, as it has asked; a minute at most. */
  hold: (destination: string, forMs: number) => void;
};

type Lane = {
  /** The due time of the next attempt if all were spaced evenly. */
  dueAtMs: number;
  heldUntilMs: number;
  /** The last moment for which an attempt was sent back to its queue. */
  promisedAtMs: number;
  running: number;
  waiting: Set<() => void>;
};

/** Much less than the limit of an attempt: an event's queue is locked meanwhile. */
const patienceMs = 3_000;
const longestHoldMs = 60_000;
/** Between those that are sent back because too many run: how long an attempt takes is not known. */
const slowSpacingMs = 250;
const mostLanes = 1_000;

/** `clockMs` must not go back. */
export function createPacer(clockMs: () => number = () => performance.now()): Pacer {
  const lanes = new LRUCache<string, Lane>({ max: mostLanes });
  const laneOf = (destination: string) => {
    const lane = lanes.get(destination) ?? newLane();
    lanes.set(destination, lane);
    return lane;
  };
  return {
    async take(destination, pace) {
      const lane = laneOf(destination);
      const startMs = clockMs();
      const waitMs = waitOf(lane, pace, startMs);
      if (waitMs > patienceMs) return postpone(lane, pace, startMs);
      lane.dueAtMs = Math.max(lane.dueAtMs, startMs, lane.heldUntilMs) + pace.spacingMs;
      if (waitMs > 0) await pass(waitMs);
      if (await enter(lane, pace, patienceMs - waitMs)) return { release: releaseOf(lane) };
      return postpone(lane, pace, clockMs());
    },
    hold(destination, forMs) {
      const lane = laneOf(destination);
      const untilMs = clockMs() + Math.min(forMs, longestHoldMs);
      lane.heldUntilMs = Math.max(lane.heldUntilMs, untilMs);
    },
  };
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function newLane(): Lane {
  return { dueAtMs: 0, heldUntilMs: 0, promisedAtMs: 0, running: 0, waiting: new Set() };
}

function waitOf({ dueAtMs, heldUntilMs }: Lane, pace: Pace, nowMs: number): number {
  const spacedAtMs = dueAtMs - (pace.burst - 1) * pace.spacingMs;
  return Math.max(spacedAtMs, heldUntilMs, nowMs) - nowMs;
}

/** Each gets a moment of its own, so that they do not all come back together. */
function postpone(lane: Lane, pace: Pace, nowMs: number): Turn {
  const freeAtMs = nowMs + Math.max(patienceMs, waitOf(lane, pace, nowMs));
  const spacingMs = pace.spacingMs || slowSpacingMs;
  lane.promisedAtMs = Math.max(lane.promisedAtMs + spacingMs, freeAtMs);
  return { afterMs: Math.ceil(lane.promisedAtMs - nowMs) };
}

/** True if one of the places was free, or became free in time. */
async function enter(lane: Lane, { atOnce }: Pace, limitMs: number): Promise<boolean> {
  if (lane.running < atOnce) {
    lane.running += 1;
    return true;
  }
  const called = Promise.withResolvers<boolean>();
  const call = () => called.resolve(true);
  lane.waiting.add(call);
  const timer = setTimeout(() => {
    if (lane.waiting.delete(call)) called.resolve(false);
  }, limitMs);
  return called.promise.finally(() => clearTimeout(timer));
}

/** The place goes to the one that waits longest. */
function releaseOf(lane: Lane): () => void {
  return () => {
    const [next] = lane.waiting;
    if (next === undefined) {
      lane.running -= 1;
      return;
    }
    lane.waiting.delete(next);
    next();
  };
}

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
  syslog: { spacingMs: 0, burst: 1, atOnce: 10 },
};

/** Secrets are read at every attempt, which takes its limit and 3 s of waiting at most; then it is not sent: `isPaced`. */
export function createSendToChannel(parts: Parts): SendToChannel {
  const { readSecret, nowMs, pacer = createPacer(), reach = createReach() } = parts;
  const { slackSpacingMs = 1_000 } = parts;
  const slack = { spacingMs: 1.1 * slackSpacingMs, burst: 1, atOnce: 4 };
  /** After the end of an attempt: requests do not all take equally long. */
  const rests = { webhook: 0, email: 0, pagerduty: 0, syslog: 0, slack: slackSpacingMs };
  // The webhooks of the settings are the operator's own, and may lead into any network.
  const open = createReach();
  const senders: Senders = {
    slack: sendToSlack,
    webhook: sendToWebhook,
    email: createSendEmail(),
    pagerduty: sendToPagerDuty,
    syslog: sendToSyslog,
  };
  const reachOf = ({ id }: DirectChannel) => (topics.some((topic) => topic === id) ? open : reach);
  return async (channel, message) => {
    const found = readDestination(channel, readSecret);
    if ("kind" in found) return found;
    const key = destinationKey(channel, found);
    const turn = await pacer.take(key, { ...paces, slack }[channel.kind]);
    if ("afterMs" in turn) return { ...paced, afterMs: turn.afterMs };
    const timeoutMs = limitOf(channel, parts.timeoutMs);
    try {
      const terms = { ...found, message, timeoutMs, nowMs: nowMs(), reach: reachOf(channel) };
      const outcome = await senders[channel.kind]({ ...terms, channel } as never);
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
