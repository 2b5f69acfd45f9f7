-- What alert routes said before each apply, as the incident service told it.
CREATE TABLE alert_route_backups (
  backup       text PRIMARY KEY,
  made_at      timestamptz NOT NULL,
  incident_url text NOT NULL,
  -- Not jsonb: it is kept to the letter.
  alert_routes json NOT NULL
);

CREATE INDEX alert_route_backups_by_time ON alert_route_backups (made_at DESC);
