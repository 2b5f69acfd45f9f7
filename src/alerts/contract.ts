/** Messages on their way to channels: how they are enqueued, and their delivery status. */
import { iface } from "@restatedev/restate-sdk-core";
import { z } from "zod";
import type { Suspect } from "#blame/contract.ts";
import { isClean } from "#kernel/text.ts";
import { longestTrace } from "#kernel/tracing.ts";
import type { DirectChannel } from "./rows/contract.ts";

export const environments = ["production", "staging"] as const;
export type Environment = (typeof environments)[number];

/** The rollout that was in progress when an alert opened, or had ended within the hour before. */
export const RolloutMark = z.object({
  rolloutId: z.string(),
  fleet: z.string(),
  image: z.string(),
  /** The one it was in, or its last. */
  wave: z.int(),
  /** Unix ms; absent: it was in progress. */
  endedAtMs: z.int().optional(),
});
export type RolloutMark = z.infer<typeof RolloutMark>;

/** An alert opens or resolves. Exactly one of each per episode, in order. */
export type AlertTransition = {
  kind: "opened" | "resolved";
  /** The same for every delivery of this event, and of no other: `formatEventId`. */
  eventId: string;
  checkId: string;
  episode: number;
  atMs: number;
  openedAtMs: number;
  /** The failure; a resolved transition repeats the reason of the one that opened the alert. */
  reason: string;
  locations: string[];
  /** The number of pings missed when the alert of a heartbeat resolves; else null. */
  missedPings: number | null;
  rollout: RolloutMark | null;
  /** Only of one that opened: what changed before and may be the cause; absent: it was not found out in time. */
  changes?: Suspect[] | undefined;
  /** Only when the alert closed without a recovery: why, for example `the check was removed`. */
  endedBecause?: string | undefined;
  /** The check has left the channel that gets it: the alert itself goes on. */
  isOfChannel?: true | undefined;
  /** Only of a drill, in which nothing has failed: the id of its row. */
  drill?: string | undefined;
};

/** The name of a drill begins with it. */
export const testMark = "[TEST] ";

/** One alert event and where it goes. */
export type AlertOrder = {
  transition: AlertTransition;
  environment: Environment;
  /** The alert source of this environment at the incident service; null: `target`, or nobody. */
  channel: Environment | null;
  /** A channel that is sent to directly, as the check had it when the event happened. */
  target?: DirectChannel | undefined;
  /** The check's display name. */
  name: string;
};

/** The queue's key of a check's events at a channel. No id has an `@`; at the incident service it is the check's id. */
export function directQueueKey(checkId: string, channelId: string): string {
  return `${checkId}@${channelId}`;
}

/** The parts of an event's id. */
export type EventName = {
  /** The key of its queue. */
  queue: string;
  episode: number;
  /** The number of times that the check had left this channel before in the episode. */
  joining: number;
  kind: AlertTransition["kind"];
};

/** The event id of a notice. No check's id has an `_`, which every topic has. */
export function formatNoticeId(queue: string, { id }: Notice): string {
  return `${queue}:${id}`;
}

const noticeIdPattern = /^([a-z]+_[a-z]+(?:\/[a-z0-9_-]+)?@[a-z0-9_-]+):.{1,200}$/;

/** The key of the queue of an event; undefined: it is no id of one. */
export function queueOf(eventId: string): string | undefined {
  return parseEventId(eventId)?.queue ?? noticeIdPattern.exec(eventId)?.[1];
}

/** `<queue>:<episode>:<kind>`; of a channel that the check has joined again `<queue>:<episode>-<joining>:<kind>`. */
export function formatEventId({ queue, episode, joining, kind }: EventName): string {
  return `${queue}:${episode}${joining === 0 ? "" : `-${joining}`}:${kind}`;
}

const eventIdPattern = /^(.{1,210}):(\d{1,12})(?:-(\d{1,6}))?:(opened|resolved)$/;

/** null: it is no id of an event. */
export function parseEventId(eventId: string): EventName | null {
  const [, queue, episode, joining = "0", kind] = eventIdPattern.exec(eventId) ?? [];
  if (queue === undefined) return null;
  return {
    queue,
    episode: Number(episode),
    joining: Number(joining),
    kind: kind as EventName["kind"],
  };
}

/** A message for people that is about no check. */
export const Notice = z.object({
  /** The same for every delivery of this message, so that a reader can recognize a repeated one. */
  id: z.string(),
  title: z.string(),
  tone: z.enum(["info", "success", "warning", "danger"]),
  /** One paragraph each, plain text. */
  lines: z.array(z.string()),
  fields: z.array(z.object({ name: z.string(), value: z.string() })),
});
export type Notice = z.infer<typeof Notice>;

/** A notice as it is posted; `rollout`: that it is about. */
export const PostedNotice = Notice.extend({
  rollout: z.object({ id: z.string(), fleet: z.string(), event: z.string() }).optional(),
  /** The span of this message; absent: it is not traced. */
  trace: z.string().max(longestTrace).optional(),
});

/** The topics of notices. Each has a Slack webhook in the settings: a channel of the same name. */
export const topics = ["sentinel_rollout", "quota_check", "alert_routes"] as const;
export type Topic = (typeof topics)[number];

/** The key to which the notices of a topic are posted; those of each fleet are apart. undefined: the default one. */
export function topicKey(topic: Topic, fleet: string | undefined): string {
  return fleet === undefined ? topic : `${topic}/${fleet}`;
}

/** One object per topic and fleet: sends each notice to its channels, in order. Post one way. */
export const notices = iface.object("vedette.v1.Notices", {
  post: iface.schemas({ input: PostedNotice, output: z.null() }),
});

/**
 * The delivery status of an event. dead: refused, or its retries ran out; it can be sent again.
 * superseded: dropped, because a later event of the check was accepted and this one is out of date, or
 * because the queue was full. not_posted: no source is configured, or its failure was not posted either.
 */
export const eventStatuses = ["pending", "accepted", "dead", "superseded", "not_posted"] as const;
export type EventStatus = (typeof eventStatuses)[number];

/** The outcome of the failure that a drill sent to a channel: the environment of the incident service, or `@<id>`. */
export const DrillOutcome = z.object({
  drill: z.string(),
  episode: z.int(),
  channel: z.string(),
  status: z.enum(eventStatuses).exclude(["pending"]),
});
export type DrillOutcome = z.infer<typeof DrillOutcome>;

export const AlertEventView = z.object({
  /** `<check>:<episode>:<kind>`, `<check>@<channel>:<episode>:<kind>` (rejoined: `-<n>`), `<topic>@<channel>:<notice>`. */
  event_id: z.string(),
  /** This, the episode and the environment are null of a notice. */
  check_id: z.string().nullable(),
  /** A notice has its title here. */
  name: z.string(),
  episode: z.int().nullable(),
  kind: z.enum(["opened", "resolved", "notice"]),
  environment: z.enum(environments).nullable(),
  /** The environment, of the incident service; else the channel's id, or the topic of a webhook of the settings. */
  channel: z.string(),
  status: z.enum(eventStatuses),
  /** Delivery attempts so far. */
  attempts: z.int(),
  /** The operator who last sent it again; null: nobody. */
  retried_by: z.string().nullable(),
  /** Why it is not accepted, if known. */
  cause: z.string().nullable(),
  /** The time at which the alert opened or resolved. */
  event_at: z.iso.datetime(),
  queued_at: z.iso.datetime(),
  /** Only while it waits for a retry. */
  next_attempt_at: z.iso.datetime().nullable(),
  accepted_at: z.iso.datetime().nullable(),
  /** From the alert's transition to the acceptance; null: not accepted. */
  delay_ms: z.int().nullable(),
});
export type AlertEventView = z.infer<typeof AlertEventView>;

/** Postgres does not store every character. */
const isName = (text: string) => isClean(text, text.length);
const noName = "has characters that cannot occur in the name of a check";

const AlertEventListRequest = z
  .strictObject({
    status: z.enum(eventStatuses).optional(),
    check: z.string().min(1).max(200).refine(isName, noName).optional(),
    limit: z.int().min(1).max(1_000).default(100),
  })
  .meta({ title: "AlertEventListRequest", examples: [{ status: "dead" }] });
export type AlertEventListRequest = z.infer<typeof AlertEventListRequest>;

/** Newest first. Notices for which there is no webhook only if `status` asks for them. */
const AlertEventList = z.object({ events: z.array(AlertEventView) });
export type AlertEventList = z.infer<typeof AlertEventList>;

const EventId = z
  .string()
  .refine((id) => queueOf(id) !== undefined, "an event's id is <check>:<episode>:<kind>")
  .refine(isName, noName);

const AlertEventRequest = z
  .strictObject({ event_id: EventId })
  .meta({ title: "AlertEventRequest", examples: [{ event_id: "verify-key:3:opened" }] });

const AlertEventDetail = AlertEventView.extend({
  /** The address to which it is posted; null: the settings name no source for it. */
  address: z.string().nullable(),
  /** The posted body; null without an address. */
  body: z.record(z.string(), z.unknown()).nullable(),
});
export type AlertEventDetail = z.infer<typeof AlertEventDetail>;

const AlertRetryRequest = z
  .strictObject({ event_id: EventId })
  .meta({ title: "AlertRetryRequest", examples: [{ event_id: "verify-key:3:opened" }] });

/** The events that are queued again, in order; a failure includes its recovery. */
const AlertRetry = z.object({ event_ids: z.array(z.string()) });

const AlertTestRequest = z
  .strictObject({ channel: z.string().min(1).max(100).refine(isName, noName) })
  .meta({ title: "AlertTestRequest", examples: [{ channel: "ops-chat" }] });

/** The outcome of each message of a test, in order. */
export const AlertTest = z.object({
  channel: z.string(),
  kind: z.string(),
  messages: z.array(
    z.object({
      status: z.enum(["firing", "resolved"]),
      /** failed: a message of a check would be tried again. */
      outcome: z.enum(["accepted", "refused", "failed", "unconfigured"]),
      /** Why it was not accepted. */
      cause: z.string().nullable(),
      /** A remark for people on an accepted one. */
      remark: z.string().nullable(),
      duration_ms: z.int(),
    }),
  ),
});
export type AlertTest = z.infer<typeof AlertTest>;

/** The handlers that `control` and the command line call. */
export const alertEventHandlers = {
  List: { input: AlertEventListRequest, output: AlertEventList },
  Show: { input: AlertEventRequest, output: AlertEventDetail },
  Retry: { input: AlertRetryRequest, output: AlertRetry },
  Test: { input: AlertTestRequest, output: AlertTest },
} as const;

/** The error codes of `Show`, `Retry` and `Test`. */
export type AlertEventProblemCode = "unknown_event" | "superseded_event" | "unknown_channel";

export const alertEvents = iface.service("vedette.v1.AlertEvents", {
  List: iface.schemas({
    ...alertEventHandlers.List,
    description: "What became of the alert events, newest first.",
  }),
  Show: iface.schemas({
    ...alertEventHandlers.Show,
    description: "One alert event: where it goes, and the body that is posted there.",
  }),
  Retry: iface.schemas({
    ...alertEventHandlers.Retry,
    description: "Sends a dead letter again, or one that waits for its next attempt at once.",
  }),
  Test: iface.schemas({
    ...alertEventHandlers.Test,
    description: "Sends a test failure and its recovery to a channel, once each.",
  }),
});
