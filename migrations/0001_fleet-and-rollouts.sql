-- The fleet as last observed, and the history of rollouts.

CREATE TABLE sentinels (
  id             text PRIMARY KEY,
  region         text NOT NULL,
  image          text NOT NULL,
  running_image  text NOT NULL,
  previous_image text,
  deploy_status  text NOT NULL CHECK (deploy_status IN ('progressing', 'ready', 'failed')),
  deploy_reason  text,
  health         text NOT NULL CHECK (health IN ('healthy', 'unhealthy', 'unknown')),
  updated_at     timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX sentinels_by_status ON sentinels (deploy_status);

CREATE TABLE rollouts (
  id               text PRIMARY KEY,
  image            text NOT NULL,
  requested_image  text NOT NULL,
  wave_percentages integer[] NOT NULL,
  state            text NOT NULL,
  reason           text,
  started_by       text,
  current_wave     integer NOT NULL DEFAULT 0,
  total_waves      integer NOT NULL DEFAULT 0,
  total            integer NOT NULL DEFAULT 0,
  succeeded        integer NOT NULL DEFAULT 0,
  failed           integer NOT NULL DEFAULT 0,
  reverted         integer NOT NULL DEFAULT 0,
  started_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  ended_at         timestamptz,
  -- Grows with every transition, so that a late write never overwrites a newer one.
  sequence         bigint NOT NULL DEFAULT 0
);

CREATE INDEX rollouts_by_start ON rollouts (started_at DESC);

CREATE TABLE rollout_sentinels (
  rollout_id     text NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
  sentinel_id    text NOT NULL,
  wave           integer NOT NULL,
  previous_image text NOT NULL,
  outcome        text CHECK (outcome IN ('succeeded', 'failed', 'reverted', 'not_reverted')),
  reason         text,
  updated_at     timestamptz NOT NULL,
  PRIMARY KEY (rollout_id, sentinel_id)
);
