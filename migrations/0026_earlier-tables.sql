-- Some early versions set these tables up with fewer columns than 0006 and 0007 have today: what is
-- missing there is added. A database that has all of it gets an index anew and stays as it is otherwise.

ALTER TABLE heartbeats
  ADD COLUMN IF NOT EXISTS allowance interval,
  ADD COLUMN IF NOT EXISTS due_at    timestamptz;

-- Their objects watch by themselves, and are asked at once whether they still do. The period and grace are
-- those of the definition as soon as the worker has started.
UPDATE heartbeats
SET is_watched = true, due_at = now(), allowance = coalesce(allowance, interval '1 day')
WHERE due_at IS NULL OR allowance IS NULL;

ALTER TABLE heartbeats
  ALTER COLUMN allowance SET NOT NULL,
  ALTER COLUMN due_at SET NOT NULL;

-- It left out those that have no time.
DROP INDEX IF EXISTS heartbeats_due;
CREATE INDEX heartbeats_due ON heartbeats (due_at);

ALTER TABLE check_runners ADD COLUMN IF NOT EXISTS seen_at timestamptz;

ALTER TABLE alert_events ADD COLUMN IF NOT EXISTS transition jsonb;

-- As much of the change as the row itself tells.
UPDATE alert_events
SET transition = jsonb_build_object(
  'kind', kind, 'eventId', event_id, 'checkId', check_id, 'episode', episode,
  'atMs', floor(extract(epoch FROM event_at) * 1000)::bigint,
  'openedAtMs', floor(extract(epoch FROM event_at) * 1000)::bigint,
  'reason', coalesce(cause, ''), 'locations', '[]'::jsonb, 'missedPings', NULL, 'rollout', NULL)
WHERE transition IS NULL;

ALTER TABLE alert_events ALTER COLUMN transition SET NOT NULL;
