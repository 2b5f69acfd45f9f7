-- The last start or failure: the heartbeat's object is about to be told of it, and of each ping after it
-- in turn.
ALTER TABLE heartbeats ADD COLUMN IF NOT EXISTS told_at timestamptz;
