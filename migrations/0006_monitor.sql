-- Where heartbeats are pinged, who else runs checks, and when pings were listened for.

CREATE TABLE heartbeats (
  id           text PRIMARY KEY,
  -- SHA-256 of the token in the ping URL.
  token_hash   bytea NOT NULL UNIQUE,
  created_at   timestamptz NOT NULL DEFAULT now(),
  -- The last successful ping.
  last_ping_at timestamptz,
  -- Period and grace.
  allowance    interval NOT NULL,
  -- Whether the heartbeat's object is to be told of each ping: unless it is ok, it is.
  is_watched   boolean NOT NULL DEFAULT true,
  -- When to look whether a ping came in time; not moved by pings. While the object itself looks: when to
  -- ask it whether it still does.
  due_at       timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE INDEX heartbeats_due ON heartbeats (due_at);

CREATE TABLE check_runners (
  location   text PRIMARY KEY,
  -- SHA-256 of the runner's token.
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it last asked for its work; until it does once nobody waits for its reports.
  seen_at    timestamptz
);

-- One row: until when pings were last listened for, and the last span in which they were not.
CREATE TABLE monitor_presence (
  part      text PRIMARY KEY,
  seen_at   timestamptz NOT NULL,
  away_from timestamptz,
  away_to   timestamptz
);
