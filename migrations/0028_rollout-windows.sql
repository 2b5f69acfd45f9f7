-- When the waves of rollouts may start, and when not.

CREATE TABLE rollout_windows (
  id        text PRIMARY KEY,
  kind      text NOT NULL CHECK (kind IN ('allowed', 'freeze')),
  -- Of the days and times of day: an IANA name.
  time_zone text NOT NULL,
  days      text[],
  from_time text,
  to_time   text,
  starts    timestamptz,
  ends      timestamptz,
  reason    text NOT NULL,
  added_by  text NOT NULL,
  added_at  timestamptz NOT NULL DEFAULT now()
);
