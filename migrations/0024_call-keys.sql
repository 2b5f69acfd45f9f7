-- With which body an idempotency key came first: with another one its answer would be no answer.

CREATE TABLE control_call_keys (
  -- SHA-256 of the caller, what is called and the key.
  key_hash  bytea PRIMARY KEY,
  -- SHA-256 of the body.
  body_hash bytea NOT NULL,
  seen_at   timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX control_call_keys_seen_at ON control_call_keys (seen_at);
