-- Tickets of the links that a start prints: each signs in at the console once, within five minutes. A row is
-- deleted by the sign-in that uses it, so that of several processes, and after a crash, only one can.
CREATE TABLE console_tickets (
  -- A digest with a key: neither the row nor the ingress token alone makes a ticket.
  digest  bytea PRIMARY KEY,
  ends_at timestamptz NOT NULL
);
