-- What checks found: single results in monthly partitions, minutes and hours of them, alerts, and
-- how each check stands now.

CREATE TABLE check_results (
  check_id      text NOT NULL,
  -- The tick that the run belongs to, the same at every location.
  scheduled_at  timestamptz NOT NULL,
  location      text NOT NULL,
  started_at    timestamptz NOT NULL,
  grade         text NOT NULL CHECK (grade IN ('ok', 'degraded', 'failed')),
  cause         text CHECK (cause IN ('slow', 'assertion', 'error')),
  duration_ms   real NOT NULL,
  dns_ms        real,
  connect_ms    real,
  tls_ms        real,
  first_byte_ms real,
  transfer_ms   real,
  status        integer,
  reason        text,
  tls_days_left integer,
  PRIMARY KEY (check_id, scheduled_at, location)
) PARTITION BY RANGE (scheduled_at);

-- Minutes and hours are made over all checks at once, by time.
CREATE INDEX check_results_by_time ON check_results USING brin (scheduled_at);

CREATE TABLE check_rollups (
  check_id       text NOT NULL,
  bucket_seconds integer NOT NULL CHECK (bucket_seconds IN (60, 3600)),
  -- Empty: all locations together.
  location       text NOT NULL,
  starts_at      timestamptz NOT NULL,
  results        integer NOT NULL,
  ok             integer NOT NULL,
  degraded       integer NOT NULL,
  failed         integer NOT NULL,
  runs           integer NOT NULL,
  failed_runs    integer NOT NULL,
  p50_ms         real NOT NULL,
  p95_ms         real NOT NULL,
  p99_ms         real NOT NULL,
  max_ms         real NOT NULL,
  -- Means; null when no result had the phase.
  dns_ms         real,
  connect_ms     real,
  tls_ms         real,
  first_byte_ms  real,
  transfer_ms    real,
  PRIMARY KEY (check_id, bucket_seconds, location, starts_at)
);

CREATE INDEX check_rollups_by_time ON check_rollups (bucket_seconds, starts_at);

-- Up to where minutes and hours are made.
CREATE TABLE check_rollup_marks (
  bucket_seconds integer PRIMARY KEY,
  done_until     timestamptz NOT NULL
);

-- Ticks that nobody ran, because the monitor was away or too busy.
CREATE TABLE check_missed_ticks (
  check_id text NOT NULL,
  from_at  timestamptz NOT NULL,
  to_at    timestamptz NOT NULL,
  ticks    integer NOT NULL,
  PRIMARY KEY (check_id, from_at)
);

CREATE TABLE check_episodes (
  check_id              text NOT NULL,
  episode               integer NOT NULL,
  opened_at             timestamptz NOT NULL,
  resolved_at           timestamptz,
  reason                text NOT NULL,
  locations             text[] NOT NULL,
  missed_pings          integer,
  rollout_id            text,
  rollout_wave          integer,
  -- When the receiver of alerts accepted the event; null: not yet, or nobody is to be told.
  opened_delivered_at   timestamptz,
  resolved_delivered_at timestamptz,
  PRIMARY KEY (check_id, episode)
);

CREATE INDEX check_episodes_by_time ON check_episodes (opened_at DESC);

CREATE TABLE check_snapshots (
  check_id text PRIMARY KEY,
  -- Grows, so that a late write never overwrites a newer one.
  taken_at timestamptz NOT NULL,
  snapshot jsonb NOT NULL
);
