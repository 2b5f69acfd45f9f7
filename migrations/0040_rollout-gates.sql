-- The checks of the gate between a rollout's waves: what is shown beside its past first. NULL: it has none, or it was
-- started by an earlier version.
ALTER TABLE rollouts ADD COLUMN gate_checks text[];
