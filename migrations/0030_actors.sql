-- Who did it, as control has authenticated them. NULL: an earlier version wrote the row.

-- Who made the ping URL, or replaced it.
ALTER TABLE heartbeats ADD COLUMN registered_by text;

-- Who added the runner, or replaced its token.
ALTER TABLE check_runners ADD COLUMN added_by text;

-- Who last sent the event again; also NULL while nobody has.
ALTER TABLE alert_events ADD COLUMN retried_by text;

-- Who last accepted a list that lacked many sentinels, and when; also NULL while nobody has.
ALTER TABLE fleet_lists ADD COLUMN confirmed_by text, ADD COLUMN confirmed_at timestamptz;
