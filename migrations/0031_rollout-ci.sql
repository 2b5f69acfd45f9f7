-- What showed at the start of the rollout that its image has passed CI. NULL: nothing was asked for, or an earlier
-- version wrote the row.
ALTER TABLE rollouts ADD COLUMN ci jsonb;
