/** Stores in Postgres the tickets of links, and the sessions that ended by signing out. */
import { createHmac, randomBytes } from "node:crypto";
import { ticketBytes, ticketMinutes } from "#console/contract.ts";
import { inTime, onceAtATime } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import type { SignedSession } from "./session.ts";

/** Each ticket signs its holder in once, in place of the ingress token, by the link of a start or of `vedette console`. */
export type Tickets = {
  /** undefined: Postgres did not store one in time. */
  issue: () => Promise<string | undefined>;
  /** Uses a ticket up at all processes. False: unknown, used or too old; "unknown": no answer of Postgres in time. */
  redeem: (ticket: string) => Promise<boolean | "unknown">;
};

const limitMs = 3_000;

/** `secret`: the same in every process that is to accept the tickets; with another one they are void. */
export function createTickets(database: Database, secret: Uint8Array): Tickets {
  const digestOf = (ticket: string) => createHmac("sha256", secret).update(ticket).digest();
  return {
    issue: () => {
      const ticket = randomBytes(ticketBytes).toString("base64url");
      const store = async () => {
        await database.query(insertTicket, [digestOf(ticket), ticketMinutes]);
        return ticket;
      };
      return inTime<string | undefined>(store, { limitMs, otherwise: undefined });
    },
    redeem: (ticket) => {
      const use = async () => {
        const { rowCount } = await database.query(useTicket, [digestOf(ticket)]);
        return rowCount === 1;
      };
      return inTime<boolean | "unknown">(use, { limitMs, otherwise: "unknown" });
    },
  };
}

const insertTicket = `
  WITH old AS (DELETE FROM console_tickets WHERE ends_at < now())
  INSERT INTO console_tickets (digest, ends_at) VALUES ($1, now() + make_interval(mins => $2))`;

// The second of two at the same time waits for the first, and then finds no row.
const useTicket = "DELETE FROM console_tickets WHERE digest = $1 AND ends_at > now()";

/** Sessions that ended by signing out, also on the command line: cached, and stored for other processes and restarts. */
export type Logouts = ReturnType<typeof createLogouts>;

/** The longest time until another process knows of a sign-out. */
const freshForMs = 5_000;

type Session = Pick<SignedSession, "id" | "endsAtMs">;

export function createLogouts(database: Database, log: Log) {
  const ended = new Set<string>();
  /** Sign-outs that are not in the database yet, because it is down. */
  const unwritten = new Map<string, Session>();
  let readAtMs = Number.NEGATIVE_INFINITY;

  const write = async ({ id, endsAtMs }: Session) => {
    await database.query(insertLogout, [id, new Date(endsAtMs)]);
    unwritten.delete(id);
  };

  const readAll = async () => {
    for (const session of unwritten.values()) await write(session);
    const { rows } = await database.query(
      "SELECT session_id FROM console_logouts WHERE ends_at > now()",
    );
    for (const { session_id } of rows) ended.add(session_id);
  };
  const read = onceAtATime(async () => {
    await readAll().catch((error: Error) =>
      log.warn({ detail: error.message }, "sign-outs not read"),
    );
    readAtMs = performance.now();
  });

  /** While the database is down the cache decides: operators must be able to control a rollout. */
  const refresh = async () => {
    if (performance.now() - readAtMs < freshForMs) return;
    await Promise.race([read(), new Promise((resolve) => setTimeout(resolve, 1_000))]);
  };

  return {
    async has({ id }: Pick<Session, "id">): Promise<boolean> {
      await refresh();
      return ended.has(id);
    },

    /** Ends a session in this process at once, and in all others as soon as it is stored. */
    async add(session: Session): Promise<void> {
      ended.add(session.id);
      unwritten.set(session.id, session);
      await write(session).catch((error: Error) =>
        log.warn({ detail: error.message }, "sign-out not written"),
      );
    },
  };
}

const insertLogout = `
  WITH old AS (DELETE FROM console_logouts WHERE ends_at < now())
  INSERT INTO console_logouts (session_id, ends_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`;
