/** Commands about alert events and messages on their way to channels. */
import { styleText } from "node:util";
import type { z } from "zod";
import {
  type AlertEventDetail,
  type AlertEventView,
  AlertTest,
  alertEventHandlers,
  alertEvents,
  type EventStatus,
} from "#alerts/contract.ts";
import { ConnectionError } from "#cli/answer.ts";
import { connect } from "#cli/connection.ts";
import type { GlobalOptions } from "#cli/options.ts";
import { complain, printAnswer, usageError } from "#cli/print.ts";
import { createTable, plain } from "#cli/table.ts";
import { pick } from "#kernel/text.ts";
import { formatDuration, formatUtc } from "#kernel/time.ts";
import { callerWords, eventWords } from "#kernel/words.ts";

type Handlers = typeof alertEventHandlers;
type Call = ReturnType<typeof alertEventsOf>;

function alertEventsOf(options: GlobalOptions) {
  const { call } = connect(options);
  return <Name extends keyof Handlers>(
    handler: Name,
    body: z.input<Handlers[Name]["input"]>,
  ): Promise<z.infer<Handlers[Name]["output"]>> => {
    const output: z.ZodType = alertEventHandlers[handler].output;
    const answer = call(`${alertEvents.name}/${handler}`, body, output);
    return answer as Promise<z.infer<Handlers[Name]["output"]>>;
  };
}

type ListOptions = GlobalOptions & { status?: EventStatus; check?: string; limit: number };

export async function listEvents(options: ListOptions): Promise<number> {
  const { status, check, limit } = options;
  const filter = { ...(status !== undefined && { status }), ...(check !== undefined && { check }) };
  const list = await alertEventsOf(options)("List", { ...filter, limit });
  if (check !== undefined && list.events.length === 0) {
    pick("check", check, (await connect(options).checks("List", {})).checks);
  }
  return printAnswer(list, options.json, () => reportEvents(list.events));
}

export async function listDeadLetters(options: ListOptions): Promise<number> {
  return listEvents({ ...options, status: "dead" });
}

export async function showEvent(eventId: string, options: GlobalOptions): Promise<number> {
  const event = await alertEventsOf(options)("Show", { event_id: eventId });
  return printAnswer(event, options.json, reportEvent);
}

type RedeliverOptions = GlobalOptions & { all: boolean; tokenRefused: boolean; check?: string };

export async function redeliver(events: string[], options: RedeliverOptions): Promise<number> {
  const { all, tokenRefused, check, json } = options;
  const isMany = all || tokenRefused;
  if (isMany === events.length > 0) {
    throw usageError("name the events, or use --all or --token-refused");
  }
  if (check !== undefined && !isMany) {
    throw usageError("--check needs --all or --token-refused");
  }
  const call = alertEventsOf(options);
  const wanted = isMany ? await findDead(call, { check, tokenRefused }) : events;
  const outcome = await sendAgain(call, wanted);
  printAnswer(outcome, json, () => reportOutcome(outcome));
  return outcome.refused.length === 0 ? 0 : 1;
}

const mostListed = 1_000;

/** Oldest first: a newer one that is accepted supersedes those before it. */
async function findDead(
  call: Call,
  { check, tokenRefused }: { check: string | undefined; tokenRefused: boolean },
): Promise<string[]> {
  const filter = { status: "dead", ...(check !== undefined && { check }) } as const;
  const { events } = await call("List", { ...filter, limit: mostListed });
  if (events.length === mostListed) {
    complain(`only the newest ${mostListed} dead letters were read; there may be older ones`);
  }
  const isWanted = ({ cause }: AlertEventView) => !tokenRefused || isForToken(cause ?? "");
  return events
    .filter(isWanted)
    .map(({ event_id }) => event_id)
    .reverse();
}

export function isForToken(cause: string): boolean {
  return /the source's token is refused/.test(cause);
}

type Redelivery = { sent: string[]; refused: { event_id: string; reason: string }[] };

async function sendAgain(call: Call, wanted: readonly string[]): Promise<Redelivery> {
  const sent = new Set<string>();
  const refused: Redelivery["refused"] = [];
  for (const event_id of wanted) {
    // Sending a failure sends its recovery, too.
    if (sent.has(event_id)) continue;
    try {
      const { event_ids } = await call("Retry", { event_id });
      for (const id of event_ids) sent.add(id);
    } catch (error) {
      if (error instanceof ConnectionError || !(error instanceof Error)) throw error;
      refused.push({ event_id, reason: error.message });
    }
  }
  return { sent: [...sent], refused };
}

function reportOutcome({ sent, refused }: Redelivery): string {
  const lines = [
    ...sent.map((eventId) => `${plain(eventId)} is being sent`),
    ...refused.map(({ event_id, reason }) => `${plain(event_id)} not sent: ${plain(reason)}`),
  ];
  return lines.length === 0 ? "No dead letters." : lines.join("\n");
}

const colours: Record<EventStatus, "green" | "yellow" | "red" | "cyan"> = {
  pending: "yellow",
  accepted: "green",
  dead: "red",
  superseded: "cyan",
  not_posted: "cyan",
};

function reportEvents(events: readonly AlertEventView[]): string {
  if (events.length === 0) return "No events.";
  const table = createTable(["event", "to", "status", "since", "tries", "delay", "because"]);
  for (const event of events) {
    table.push([
      plain(event.event_id),
      event.channel,
      paintStatus(event.status),
      formatUtc(event.event_at),
      event.attempts,
      event.delay_ms === null ? "" : formatDuration(event.delay_ms),
      describeCause(event),
    ]);
  }
  return String(table);
}

function describeCause({ cause, next_attempt_at }: AlertEventView): string {
  const next = next_attempt_at === null ? "" : `next try ${formatUtc(next_attempt_at)}`;
  return [plain(cause ?? ""), next].filter((part) => part !== "").join("; ");
}

function reportEvent(event: AlertEventDetail): string {
  const { address, body, attempts, accepted_at, retried_by, cause } = event;
  return [
    `${plain(event.event_id)} (${plain(event.name)}): ${paintStatus(event.status)}, ${attempts} ${attempts === 1 ? "try" : "tries"}`,
    `since ${formatUtc(event.event_at)}${accepted_at === null ? "" : `, accepted ${formatUtc(accepted_at)}`}`,
    ...(retried_by === null ? [] : [`sent again by ${plain(callerWords(retried_by))}`]),
    ...(cause === null ? [] : [`because: ${describeCause(event)}`]),
    address === null ? describeNowhere(event) : `POST ${address}`,
    ...(body === null ? [] : [JSON.stringify(body, null, 2).split("\n").map(plain).join("\n")]),
  ].join("\n");
}

/** Describes an event without a destination. An `@` in its id shows a channel that is sent to directly. */
function describeNowhere({ event_id, channel }: AlertEventDetail): string {
  return event_id.includes("@")
    ? `There is no channel ${plain(channel)} now; an alert goes where its row said when it happened.`
    : "It cannot be posted: the settings have no source for it.";
}

function paintStatus(status: EventStatus): string {
  return styleText(colours[status], eventWords(status), { stream: process.stdout });
}

/** `vedette alerts test`: whether a channel takes alerts. */
export async function testChannel(channel: string, options: GlobalOptions): Promise<number> {
  const { callToEnd } = connect(options);
  const result = await callToEnd(`${alertEvents.name}/Test`, { channel }, AlertTest);
  printAnswer(result, options.json, () => result.messages.map(report).join("\n"));
  return result.messages.every(({ outcome }) => outcome === "accepted") ? 0 : 1;
}

function report({ status, outcome, cause, remark, duration_ms }: AlertTest["messages"][number]) {
  const because = [cause, remark].flatMap((text) => (text === null ? [] : [`: ${plain(text)}`]));
  return `${status} ${outcome} after ${formatDuration(duration_ms)}${because.join("")}`;
}
