-- Secrets that every process of an installation shares. `actor`: callers' names are signed with it on
-- their way from the gateway, through Restate, to the worker.

CREATE TABLE shared_keys (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);
