/** Tickets: each signs its holder in once, in place of the ingress token, by the link that a start, or `vedette console`, prints. */
import { createHmac, randomBytes } from "node:crypto";
import type { Database } from "#kernel/database.ts";
import { inTime } from "#kernel/in-time.ts";
import { ticketBytes, ticketMinutes } from "./contract.ts";

export type Tickets = {
  /** undefined: Postgres did not store one in time. */
  issue: () => Promise<string | undefined>;
  /**
   * Uses a ticket up, for every process on the same database. False: it is unknown, used or too old;
   * "unknown": Postgres did not answer in time.
   */
  redeem: (ticket: string) => Promise<boolean | "unknown">;
};

/** Somebody waits for it. */
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

// Of two at the same time one waits for the other, and then finds no row.
const useTicket = "DELETE FROM console_tickets WHERE digest = $1 AND ends_at > now()";
