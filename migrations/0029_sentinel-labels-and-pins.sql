-- Labels of sentinels, as their fleet lists them.

ALTER TABLE sentinels ADD COLUMN labels jsonb NOT NULL DEFAULT '{}';

-- Sentinels that rollouts leave out.

ALTER TABLE rollout_sentinels DROP CONSTRAINT rollout_sentinels_outcome_check;
ALTER TABLE rollout_sentinels ADD CONSTRAINT rollout_sentinels_outcome_check
  CHECK (outcome IN ('succeeded', 'failed', 'reverted', 'not_reverted', 'left_out'));

-- What each wave is; NULL: by the percentages alone, as earlier versions planned.
ALTER TABLE rollouts ADD COLUMN waves jsonb;
ALTER TABLE rollouts ADD COLUMN left_out integer NOT NULL DEFAULT 0;

CREATE TABLE rollout_pins (
  id       text PRIMARY KEY,
  -- A pin holds for sentinels that match each of these that it has.
  ids      text[],
  regions  text[],
  labels   jsonb,
  -- From then on it holds no longer.
  ends     timestamptz,
  reason   text NOT NULL,
  added_by text NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now()
);
