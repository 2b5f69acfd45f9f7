-- Rate limits that callers name themselves, and exceptions from them.

CREATE TABLE ratelimit_namespaces (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  name         text NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  -- A deleted one keeps its name: its limits answer 410 instead of counting anew.
  deleted_at   timestamptz,
  UNIQUE (workspace_id, name)
);

CREATE TABLE ratelimit_overrides (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  namespace_id text NOT NULL REFERENCES ratelimit_namespaces ON DELETE CASCADE,
  -- Whom it is for; `*` is any sequence.
  identifier   text NOT NULL,
  "limit"      bigint NOT NULL CHECK ("limit" >= 0),
  duration_ms  bigint NOT NULL CHECK (duration_ms >= 1000),
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz,
  UNIQUE (namespace_id, identifier)
);

CREATE INDEX ratelimit_overrides_of_namespace ON ratelimit_overrides (namespace_id, id);
