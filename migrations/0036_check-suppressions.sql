-- When a check failed and alerted nobody, because something that it depends on failed. Written with its
-- snapshots, so that a span whose beginning or end was lost is put right by the next one.

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

CREATE INDEX check_suppressions_lasting ON check_suppressions (check_id) WHERE ended_at IS NULL;
