-- Spans in which pings were listened for: a row for each process that does, and a further one whenever it
-- could not for a while. What lies between the spans is what nobody heard.
ALTER TABLE monitor_presence
  -- null: a process of an earlier version notes only that it is there.
  ADD COLUMN since    timestamptz,
  -- Whether the process ended in good order, so that nobody waits for another note.
  ADD COLUMN has_left boolean NOT NULL DEFAULT false;

-- What was known until now: the last span in which nobody listened lies between these two.
INSERT INTO monitor_presence (part, since, seen_at, has_left)
SELECT 'pings:before', away_from, away_from, true
FROM monitor_presence WHERE part = 'pings' AND away_from IS NOT NULL;
UPDATE monitor_presence SET since = coalesce(away_to, seen_at) WHERE part = 'pings';
