-- Root keys by where they come from, and whose database this is.

-- NULL: an ordinary key, or a root key that an operator made. 'setting': api.root_key; 'generated': made at
-- the first start; 'sentinels': what the local fleet's gateways verify with; 'replaced': by another one.
ALTER TABLE keys ADD COLUMN origin text
  CHECK (origin IN ('setting', 'generated', 'sentinels', 'replaced'));

CREATE INDEX keys_that_are_root ON keys (id) WHERE for_workspace_id IS NOT NULL;

-- Read by time over all workspaces, newest first.
CREATE INDEX audit_log_by_time ON audit_log (time, id);

-- One row: an installation is its database, and what else is its own names this id.
CREATE TABLE installation (
  is_the_only_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_only_one),
  id              text NOT NULL DEFAULT gen_random_uuid()::text,
  created_at      timestamptz NOT NULL DEFAULT now()
);

INSERT INTO installation DEFAULT VALUES;
