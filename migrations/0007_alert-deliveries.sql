-- What became of each alert event on its way to the incident service.

CREATE TABLE alert_events (
  -- <check id>:<episode>:<kind>
  event_id        text PRIMARY KEY,
  check_id        text NOT NULL,
  name            text NOT NULL,
  episode         integer NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('opened', 'resolved')),
  environment     text NOT NULL,
  channel         text NOT NULL,
  -- The change of the alert as it was handed over.
  transition      jsonb NOT NULL,
  status          text NOT NULL
    CHECK (status IN ('pending', 'accepted', 'dead', 'superseded', 'not_posted')),
  attempts        integer NOT NULL,
  cause           text,
  event_at        timestamptz NOT NULL,
  queued_at       timestamptz NOT NULL,
  -- Only of one that waits to be tried again.
  next_attempt_at timestamptz,
  accepted_at     timestamptz
);

CREATE INDEX alert_events_by_time ON alert_events (queued_at DESC);

-- What an operator looks for; few rows.
CREATE INDEX alert_events_open ON alert_events (status, queued_at) WHERE status IN ('pending', 'dead');
