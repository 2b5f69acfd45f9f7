/** Writes answers as Node and Fastify write them. */
import { STATUS_CODES } from "node:http";
import type { Headers, WireAnswer } from "#api/http/wire-answer.ts";

/** `keepAliveMs`: how long the connection stays open without a request. */
export function createToHttp(keepAliveMs: number): (answer: WireAnswer) => string {
  const seconds = Math.floor(keepAliveMs / 1_000);
  const keptAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n\r\n`;
  const now = createDate();
  return ({ status, headers, type, body }) => {
    const start = status === 200 ? ok : `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n`;
    const own = headers === undefined ? "" : linesOf(headers);
    const length = Buffer.byteLength(body);
    return `${start}${own}content-type: ${type}\r\ncontent-length: ${length}\r\nDate: ${now()}\r\n${keptAlive}${body}`;
  };
}

const ok = "HTTP/1.1 200 OK\r\n";

function linesOf(headers: Headers): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

/** The value of the header `Date`, which is the same for a second. */
function createDate(): () => string {
  let text = "";
  let untilMs = Number.NEGATIVE_INFINITY;
  return () => {
    const nowMs = Date.now();
    if (nowMs >= untilMs || nowMs < untilMs - 1_000) {
      text = new Date(nowMs).toUTCString();
      untilMs = nowMs - (nowMs % 1_000) + 1_000;
    }
    return text;
  };
}
