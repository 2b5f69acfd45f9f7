-- A sentinel's outcome may change more than once: a failure is tried again, a success fails in its soak.
-- The later write counts, by the sequence of the rollout that it was made with.
ALTER TABLE rollout_sentinels ADD COLUMN sequence bigint NOT NULL DEFAULT 0;

-- Why it is paused, how it ended, what it waits for, and what was asked of it, as Status says it.
ALTER TABLE rollouts
  ADD COLUMN cause       text,
  ADD COLUMN outcome     text,
  ADD COLUMN waiting_for text,
  ADD COLUMN waits_until timestamptz,
  ADD COLUMN policy      jsonb NOT NULL DEFAULT '{}';

-- Rollouts that have ended before this program stored how.
UPDATE rollouts SET outcome = CASE
  WHEN state = 'completed' THEN 'completed'
  WHEN reverted > 0 OR EXISTS (SELECT FROM rollout_messages AS m
    WHERE m.rollout_id = rollouts.id AND m.event = 'rollback completed') THEN 'rolled_back'
  ELSE 'cancelled' END
WHERE state IN ('completed', 'cancelled');
