-- The deploy that a push has said is ready: one that no invocation of its own follows yet can't be told in any other way.
ALTER TABLE sentinels ADD COLUMN pushed_deploy text;
