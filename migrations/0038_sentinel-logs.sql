-- The last lines of what a deploy that has failed had started: of each sentinel those of its newest one.

CREATE TABLE sentinel_logs (
  sentinel_id text PRIMARY KEY REFERENCES sentinels (id) ON DELETE CASCADE,
  deploy_id   text NOT NULL,
  image       text NOT NULL,
  reason      text NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  -- With a newline between each two. Empty: none are kept, and `note` says why.
  lines       text NOT NULL,
  note        text
);
