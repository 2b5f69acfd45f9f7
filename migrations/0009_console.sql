-- What the console shows besides: what was told to people, and whether it arrived; and sign-outs.

-- The messages of a rollout, one per transition, and who caused it; null: nobody, it went on by itself.
CREATE TABLE rollout_messages (
  rollout_id text NOT NULL,
  sequence   bigint NOT NULL,
  event      text NOT NULL,
  actor      text,
  at         timestamptz NOT NULL,
  message    jsonb NOT NULL,
  PRIMARY KEY (rollout_id, sequence)
);

-- How the delivery of a chat message stands; one that waits behind others has no row yet.
CREATE TABLE chat_deliveries (
  message_id text PRIMARY KEY,
  channel    text NOT NULL,
  outcome    text NOT NULL CHECK (outcome IN ('sending', 'delivered', 'dropped', 'refused', 'given_up')),
  detail     text,
  attempts   integer NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Sessions that were signed out of before they ended by themselves.
CREATE TABLE console_logouts (
  session_id text PRIMARY KEY,
  ends_at    timestamptz NOT NULL
);
