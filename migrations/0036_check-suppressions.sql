-- When a check failed and alerted nobody, because something that it depends on failed.

CREATE TABLE check_suppressions (
  check_id      text NOT NULL,
  began_at      timestamptz NOT NULL,
  -- null: it lasts.
  ended_at      timestamptz,
  -- The check or heartbeat that failed.
  suppressed_by text NOT NULL,
  -- What the alert would have said.
  reason        text NOT NULL,
  PRIMARY KEY (check_id, began_at)
);
