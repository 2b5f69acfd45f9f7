/**
 * Sessions are sealed tickets: they outlive a restart and need no database, so that a rollout can be
 * stopped while Postgres is away. One ends by itself, by signing out, or with the token behind it.
 */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { z } from "zod";

const Ticket = z.strictObject({
  id: z.string(),
  actor: z.string(),
  /** Of the token that was signed in with. */
  mark: z.string(),
  endsAtMs: z.number(),
});
export type Ticket = z.infer<typeof Ticket>;

/** A shift, and the hand-over after it. */
export const sessionMs = 12 * 3_600_000;

export function createTicket(actor: string, { mark, nowMs }: { mark: string; nowMs: number }) {
  const id = randomBytes(16).toString("base64url");
  return { id, actor, mark, endsAtMs: nowMs + sessionMs } satisfies Ticket;
}

/** The ticket as the cookie carries it. */
export function seal(ticket: Ticket, key: Uint8Array): string {
  const body = Buffer.from(JSON.stringify(ticket)).toString("base64url");
  return `${body}.${sign(`ticket.${body}`, key)}`;
}

/** The ticket of a cookie; undefined when it is not ours, or over. */
export function unseal(text: string, key: Uint8Array, nowMs: number): Ticket | undefined {
  const [body = "", signature = ""] = text.split(".");
  if (!isSame(signature, sign(`ticket.${body}`, key))) return undefined;
  const ticket = Ticket.parse(JSON.parse(Buffer.from(body, "base64url").toString()));
  return ticket.endsAtMs > nowMs ? ticket : undefined;
}

/** What a page of this session sends with its writes, and a page of another site cannot know. */
export function csrfOf(ticket: Ticket, key: Uint8Array): string {
  return sign(`csrf.${ticket.id}`, key);
}

/** Compares in constant time. */
export function isSame(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}

function sign(text: string, key: Uint8Array): string {
  return createHmac("sha256", key).update(text).digest("base64url");
}
