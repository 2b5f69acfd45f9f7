-- Why a sentinel failed in a rollout, also after a rollback has put it back; and how many of those there are.
-- NULL: it has not failed, or its deploy was tried again.
ALTER TABLE rollout_sentinels ADD COLUMN failure text;
ALTER TABLE rollouts ADD COLUMN failed_before integer NOT NULL DEFAULT 0;
