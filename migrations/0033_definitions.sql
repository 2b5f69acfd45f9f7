-- The definitions of checks, heartbeats, channels, alert sources and alert routes, as they were applied: the
-- row with the highest revision is in force, those before it are the history.

CREATE TABLE definitions (
  revision   integer PRIMARY KEY,
  -- The call that applied it: a repeated step of the same call finds its own row.
  apply_id   text NOT NULL,
  -- standard: a start without a file. file: a start with one. command: `vedette config apply`.
  source     text NOT NULL,
  applied_by text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  -- All rows by section, with their defaults.
  rows       jsonb NOT NULL,
  -- What differs from the revision before.
  changes    jsonb NOT NULL
);
