/** An event as a mail: one for each recipient, the mails of an episode in one thread. */
import { createHash } from "node:crypto";
import type { ChannelMessage } from "#alerts/channels/message.ts";
import { factsOf, headline, linksOf, markOf, oneLine, shorten } from "#alerts/channels/words.ts";
import { rolloutKeyOf } from "#alerts/order.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { formatUtc } from "#kernel/time.ts";

const textLength = 10_000;

/** Returns the mail for nodemailer, the same for every attempt at the same event and recipient. */
export function renderMail(message: ChannelMessage, { from }: ChannelOf<"email">, to: string) {
  const opened = idOf({ eventId: openedEventOf(message), to, from });
  const isFirst = startsThread(message);
  return {
    from: { name: "Vedette", address: from },
    to: { name: "", address: to },
    envelope: { from, to: [to] },
    subject: subjectOf(message),
    date: new Date(message.atMs),
    messageId: isFirst ? opened : idOf({ eventId: message.eventId, to, from }),
    ...(!isFirst && { inReplyTo: opened, references: [opened] }),
    headers: {
      // RFC 3834: nobody's absence notice answers it. Bounces still come.
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "OOF, AutoReply",
      "List-ID": `Vedette alerts <vedette-alerts.${domainOf(from)}>`,
      "X-Vedette-Event": message.eventId,
    },
    text: textOf(message),
    html: htmlOf(message),
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

/** One for all mails of a thread: the state is the first line of the text. `=?` begins a text in an encoding (RFC 2047). */
function subjectOf(message: ChannelMessage): string {
  const [tag, name = ""] =
    message.kind === "notice"
      ? [`rollout, ${message.notice.rollout?.fleet}`, message.notice.fields[0]?.value]
      : [message.isTest ? "TEST" : message.environment, message.name];
  const subject = `[${tag}] ${shorten(oneLine(name).replaceAll("=?", "= ?"), 150)}`;
  return startsThread(message) ? subject : `Re: ${subject}`;
}

function startsThread(message: ChannelMessage): boolean {
  if (message.kind === "notice") {
    return ["rollout started", "drift found"].includes(message.notice.rollout?.event ?? "");
  }
  return message.kind === "firing";
}

/** The same for all mails of a thread. */
function openedEventOf(message: ChannelMessage): string {
  if (message.kind === "notice") return rolloutKeyOf(message);
  return message.eventId.replace(/:resolved$/, ":opened");
}

/** Returns the same id for each attempt: a mailbox that merges mails by id shows a repeated one once. */
function idOf({ eventId, to, from }: { eventId: string; to: string; from: string }): string {
  const digest = createHash("sha256").update(`${eventId} ${to}`).digest("hex").slice(0, 32);
  return `<${digest}@${domainOf(from)}>`;
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

type Line = { name: string; text: string };

/** A mail may arrive late, after one that is newer: it says of when it is. */
function linesOf(message: ChannelMessage): Line[] {
  const { kind, atMs, eventId } = message;
  const name = kind === "firing" ? "Reason" : "It had failed";
  return [
    ...factsOf(message),
    ...(kind === "notice" ? [] : [{ name, text: shorten(message.reason, textLength) }]),
    { name: "As of", text: formatUtc(atMs) },
    { name: "Event", text: eventId },
  ];
}

function textOf(message: ChannelMessage): string {
  return [
    `${markOf(message)} ${headline(message)}`,
    "",
    ...linesOf(message).map(({ name, text }) => `${name}: ${text.toWellFormed()}`),
    ...linksOf(message).map(({ text, href }) => `\n${text}: ${href}`),
    "",
  ].join("\n");
}

function htmlOf(message: ChannelMessage): string {
  const title = escapeHtml(`${markOf(message)} ${headline(message)}`);
  const rows = linesOf(message).map(
    ({ name, text }) => `<tr><td>${escapeHtml(name)}</td><td>${escapeHtml(text)}</td></tr>`,
  );
  return [
    '<!doctype html><html><head><meta charset="utf-8"></head><body>',
    `<p><strong>${title}</strong></p>`,
    `<table cellpadding="4">${rows.join("")}</table>`,
    ...linksOf(message).map(({ text, href }) => `<p><a href="${escapeHtml(href)}">${text}</a></p>`),
    "</body></html>",
  ].join("\n");
}

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.toWellFormed().replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
