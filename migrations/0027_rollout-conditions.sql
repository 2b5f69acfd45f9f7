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
