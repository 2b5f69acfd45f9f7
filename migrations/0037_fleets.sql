-- Several fleets: sentinels and rollouts are of one of them; `singleton` is the default fleet.

ALTER TABLE sentinels ADD COLUMN fleet text NOT NULL DEFAULT 'singleton';
CREATE INDEX sentinels_by_fleet ON sentinels (fleet, id);

ALTER TABLE rollouts ADD COLUMN fleet text NOT NULL DEFAULT 'singleton';
CREATE INDEX rollouts_by_fleet ON rollouts (fleet, started_at DESC);

-- For which fleet a window or a pin holds. NULL: for all of them.

ALTER TABLE rollout_windows ADD COLUMN fleet text;
ALTER TABLE rollout_pins ADD COLUMN fleet text;

-- Which fleet takes an image only after which other one has completed it.

CREATE TABLE rollout_promotions (
  id       text PRIMARY KEY,
  fleet    text NOT NULL,
  after    text NOT NULL,
  reason   text NOT NULL,
  added_by text NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now()
);
