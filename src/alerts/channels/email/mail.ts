/** An event as a mail: one for each recipient, the mails of an episode in one thread. */
import { createHash } from "node:crypto";
import type { AlertMessage } from "#alerts/channels/message.ts";
import { factsOf, headline, linksOf, markOf, oneLine, shorten } from "#alerts/channels/words.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { formatUtc } from "#kernel/time.ts";

const textLength = 10_000;

/** What nodemailer takes. The same for every attempt at the same event and recipient. */
export function renderMail(message: AlertMessage, { from }: ChannelOf<"email">, to: string) {
  const opened = idOf({ eventId: openedEventOf(message), to, from });
  const isFirst = message.kind === "firing";
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
function subjectOf({ kind, isTest, environment, name }: AlertMessage): string {
  const subject = `[${isTest ? "TEST" : environment}] ${shorten(oneLine(name).replaceAll("=?", "= ?"), 150)}`;
  return kind === "firing" ? subject : `Re: ${subject}`;
}

function openedEventOf({ eventId }: AlertMessage): string {
  return eventId.replace(/:resolved$/, ":opened");
}

/** Where a mailbox merges mails of the same id, a repeated attempt is no second mail. */
function idOf({ eventId, to, from }: { eventId: string; to: string; from: string }): string {
  const digest = createHash("sha256").update(`${eventId} ${to}`).digest("hex").slice(0, 32);
  return `<${digest}@${domainOf(from)}>`;
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

type Line = { name: string; text: string };

/** A mail may arrive late, after one that is newer: it says of when it is. */
function linesOf(message: AlertMessage): Line[] {
  const { kind, reason, atMs, eventId } = message;
  return [
    ...factsOf(message),
    { name: kind === "firing" ? "Reason" : "It had failed", text: shorten(reason, textLength) },
    { name: "As of", text: formatUtc(atMs) },
    { name: "Event", text: eventId },
  ];
}

function textOf(message: AlertMessage): string {
  return [
    `${markOf(message)} ${headline(message)}`,
    "",
    ...linesOf(message).map(({ name, text }) => `${name}: ${text.toWellFormed()}`),
    ...linksOf(message).map(({ text, href }) => `\n${text}: ${href}`),
    "",
  ].join("\n");
}

function htmlOf(message: AlertMessage): string {
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
