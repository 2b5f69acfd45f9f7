/** Describes an event for people: with the same words in every channel. */
import { someOf } from "#kernel/text.ts";
import { formatSpan, formatUtc } from "#kernel/time.ts";
import { suspectWords } from "#kernel/words.ts";
import type { AlertMessage, ChannelMessage } from "./message.ts";

/** A name is cut in a headline, so that the cause still fits on the screen of a phone. */
const nameLength = 30;
const reasonLength = 500;

/** `🔴` and the like: colours alone tell nothing, so the word follows. */
export function markOf(message: ChannelMessage): string {
  if (message.kind === "notice") return marks[message.notice.tone];
  if (message.isTest) return "🔵";
  if (message.kind === "firing") return "🔴";
  return message.endedBecause === null ? "🟢" : "⚪";
}

const marks = { info: "🔵", success: "🟢", warning: "🟠", danger: "🔴" } as const;

/** True if people have to act. A failed rollout is over with its next notice. */
export function isFailure(message: ChannelMessage): boolean {
  return message.kind === "notice" ? message.notice.tone === "danger" : message.kind === "firing";
}

/** State, name and cause, in this order: `Failed: Verify key: status 500`. One line. */
export function headline(message: ChannelMessage): string {
  if (message.kind === "notice") {
    const { title, lines } = message.notice;
    return [title, ...(lines.length > 0 ? [lines.join(" ")] : [])].map(oneLine).join(": ");
  }
  const { kind, name, reason, endedBecause, isTest } = message;
  const test = isTest ? "[TEST] " : "";
  const shortName = shorten(oneLine(name), nameLength);
  const cause = shorten(oneLine(reason), reasonLength);
  if (kind === "firing") return `${test}Failed: ${shortName}: ${cause}`;
  const lasted = lastedWords(message);
  if (endedBecause === null) {
    return `${test}Recovered after ${lasted}: ${shortName}. It had failed: ${cause}`;
  }
  const why = shorten(oneLine(endedBecause), reasonLength);
  return `${test}Closed after ${lasted}: ${shortName}: ${why}. It had failed: ${cause}`;
}

type Fact = { name: string; text: string };

/** Returns the facts that people need to look into it, most important first. */
export function factsOf(message: ChannelMessage): Fact[] {
  if (message.kind === "notice") {
    return message.notice.fields.map(({ name, value }) => ({ name, text: oneLine(value) }));
  }
  const { name, environment, locations, rollout, missedPings, openedAtMs, kind } = message;
  const { changes = [] } = message;
  const lasted = kind === "firing" ? "" : `, for ${lastedWords(message)}`;
  return [
    { name: "Check", text: `${shorten(oneLine(name), 200)} (${environment})` },
    { name: "Since", text: `${formatUtc(openedAtMs)}${lasted}` },
    ...(rollout === null ? [] : [{ name: "Rollout", text: rollout.summary }]),
    ...(changes.length === 0 ? [] : [{ name: "Changed before", text: suspectWords(changes) }]),
    ...(locations.length === 0 ? [] : [{ name: "Where", text: placesOf(locations) }]),
    ...(missedPings === null ? [] : [{ name: "Pings missed", text: String(missedPings) }]),
  ];
}

export function linksOf(message: ChannelMessage): { text: string; href: string }[] {
  const { url } = message;
  if (message.kind === "notice") return url === null ? [] : [{ text: "Open rollout", href: url }];
  const { rollout } = message;
  return [
    ...(url === null ? [] : [{ text: "Open check", href: url }]),
    ...(rollout?.url == null ? [] : [{ text: "Open rollout", href: rollout.url }]),
  ];
}

const mostPlaces = 10;

function placesOf(locations: readonly string[]): string {
  const places = locations.slice(0, mostPlaces).map((place) => shorten(oneLine(place), 100));
  return someOf(places, mostPlaces, locations.length);
}

function lastedWords({ openedAtMs, atMs }: AlertMessage): string {
  return formatSpan(openedAtMs, atMs);
}

/** Text of one line, whatever people or a peer wrote. */
export function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** At most `limit` characters; no surrogate pair is cut in two. */
export function shorten(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
