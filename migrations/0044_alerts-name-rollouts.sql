-- An alert names its rollout by image and wave, and says when it had ended.
ALTER TABLE check_episodes ADD COLUMN rollout jsonb;
ALTER TABLE check_episodes DROP COLUMN rollout_id, DROP COLUMN rollout_wave;
