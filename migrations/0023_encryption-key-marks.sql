-- With which `api.encryption_keys` this database is used, so that a process with others is refused.

CREATE TABLE encryption_key_marks (
  id       text PRIMARY KEY,
  -- The first one seals.
  position integer NOT NULL,
  -- Made from the key, which cannot be told from it.
  mark     bytea NOT NULL
);
