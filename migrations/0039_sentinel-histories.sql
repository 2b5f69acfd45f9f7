-- Every change of a sentinel's outcome in a rollout, the oldest first: `updated_at` and `outcome` have only the
-- last one, so that a rollback left nothing of when the image had come. An element is an outcome (null: it is tried
-- again), when it was recorded, and when its deploy was ordered (null: not known), both in ms since 1970.
-- NULL: the row is of an earlier version, which kept the last change only.
ALTER TABLE rollout_sentinels ADD COLUMN changes jsonb;
