/** Answers a page that asks the same again and again with what has changed since its last answer. */
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { findChanges } from "#console/diff.ts";

/** In characters of JSON, of all answers. */
const mostKept = 16_000_000;
/** A page that asks more seldom gets the whole answer. */
const keptForMs = 120_000;

export type AnswerPolled = (
  from: { request: FastifyRequest; reply: FastifyReply },
  answer: unknown,
) => unknown;

/** The page has the answer whose tag it sends: 226 for the changes since then, 200 for a whole answer. */
export function createPolled(): AnswerPolled {
  const answers = new LRUCache<string, object>({ maxSize: mostKept, ttl: keptForMs });
  return ({ request, reply }, answer) => {
    const known = request.headers["if-none-match"];
    if (known === undefined || typeof answer !== "object" || answer === null) return answer;
    const text = JSON.stringify(answer);
    // Of this session alone: a tag must not tell what another one was answered.
    const { cookie = "" } = request.headers;
    const hash = createHash("sha256").update(`${cookie}\n${request.url}\n${text}`);
    const tag = hash.digest("base64url").slice(0, 22);
    answers.set(tag, answer, { size: text.length });
    reply.header("etag", tag);
    const before = answers.get(known);
    return before === undefined ? answer : reply.code(226).send(findChanges(before, answer));
  };
}
