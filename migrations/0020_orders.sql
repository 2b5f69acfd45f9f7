-- Which deploy a sentinel was last ordered for, so that an order can be refused once its run has stopped.

CREATE TABLE stopped_runs (
  run        text PRIMARY KEY,
  stopped_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE sentinels
  ADD COLUMN deploy_id     text,
  ADD COLUMN deploy_run    text,
  -- When the order was last allowed to go out.
  ADD COLUMN ordered_at    timestamptz,
  -- The row as it was before that order: what it is put back to when the order never went out.
  ADD COLUMN before_deploy jsonb;
