-- The public API: workspaces and what belongs to them. Every row names its workspace.

CREATE TABLE workspaces (
  id                      text PRIMARY KEY,
  name                    text NOT NULL,
  enabled                 boolean NOT NULL DEFAULT true,
  -- NULL: no limit; 0: every call is refused.
  api_requests_per_minute bigint CHECK (api_requests_per_minute >= 0),
  -- Billable verifications and limit decisions a month; over it the quota check tells the operator.
  monthly_quota           bigint CHECK (monthly_quota >= 0),
  created_at              timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE key_spaces (
  id                   text PRIMARY KEY,
  workspace_id         text NOT NULL REFERENCES workspaces,
  -- Whether keys of this space may be stored so that they can be shown again.
  store_encrypted_keys boolean NOT NULL DEFAULT true,
  default_prefix       text,
  default_bytes        integer CHECK (default_bytes BETWEEN 16 AND 255),
  -- As the job `count-keys` last counted.
  key_count            bigint NOT NULL DEFAULT 0,
  counted_at           timestamptz
);

CREATE TABLE apis (
  id                text PRIMARY KEY,
  workspace_id      text NOT NULL REFERENCES workspaces,
  key_space_id      text NOT NULL UNIQUE REFERENCES key_spaces,
  name              text NOT NULL,
  -- Addresses from which its keys may be used; NULL: from anywhere.
  ip_allowlist      text[],
  delete_protection boolean NOT NULL DEFAULT false,
  created_at        timestamptz NOT NULL DEFAULT now(),
  deleted_at        timestamptz
);

CREATE INDEX apis_of_workspace ON apis (workspace_id, id);

CREATE TABLE identities (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  external_id  text NOT NULL,
  meta         jsonb,
  created_at   timestamptz NOT NULL DEFAULT now(),
  updated_at   timestamptz,
  deleted_at   timestamptz
);

CREATE UNIQUE INDEX identities_external_id ON identities (workspace_id, external_id)
  WHERE deleted_at IS NULL;
CREATE INDEX identities_of_workspace ON identities (workspace_id, id) WHERE deleted_at IS NULL;

CREATE TABLE key_migrations (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  algorithm    text NOT NULL CHECK (algorithm IN ('sha256', 'github.com/seamapi/prefixed-api-key'))
);

CREATE TABLE keys (
  id                   text PRIMARY KEY,
  workspace_id         text NOT NULL REFERENCES workspaces,
  key_space_id         text NOT NULL REFERENCES key_spaces,
  -- Set on root keys only: the workspace that they act on.
  for_workspace_id     text REFERENCES workspaces,
  -- base64 of SHA-256; the key itself is never stored in clear text.
  hash                 text NOT NULL UNIQUE,
  start                text NOT NULL,
  name                 text,
  identity_id          text REFERENCES identities,
  meta                 jsonb,
  enabled              boolean NOT NULL DEFAULT true,
  expires_at           timestamptz,
  -- Credits; NULL: unlimited.
  remaining            bigint CHECK (remaining >= 0),
  refill_amount        bigint CHECK (refill_amount >= 1),
  -- NULL: daily; else the day of the month.
  refill_day           integer CHECK (refill_day BETWEEN 1 AND 31),
  last_refill_at       timestamptz,
  -- Set until the first verification has replaced a foreign hash by ours.
  pending_migration_id text REFERENCES key_migrations,
  created_at           timestamptz NOT NULL DEFAULT now(),
  updated_at           timestamptz,
  last_used_at         timestamptz,
  deleted_at           timestamptz
);

CREATE INDEX keys_of_space ON keys (key_space_id, id) WHERE deleted_at IS NULL;
CREATE INDEX keys_of_identity ON keys (identity_id) WHERE identity_id IS NOT NULL;
CREATE INDEX keys_to_refill ON keys (id) WHERE refill_amount IS NOT NULL AND deleted_at IS NULL;

CREATE TABLE encrypted_keys (
  key_id            text PRIMARY KEY REFERENCES keys ON DELETE CASCADE,
  workspace_id      text NOT NULL REFERENCES workspaces,
  encryption_key_id text NOT NULL,
  -- AES-256-GCM: nonce (12 bytes), ciphertext, tag (16 bytes); the key's id is authenticated with it.
  sealed            bytea NOT NULL
);

CREATE TABLE key_ratelimits (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  key_id       text REFERENCES keys ON DELETE CASCADE,
  identity_id  text REFERENCES identities ON DELETE CASCADE,
  name         text NOT NULL,
  "limit"      bigint NOT NULL,
  duration_ms  bigint NOT NULL,
  auto_apply   boolean NOT NULL,
  CHECK ((key_id IS NULL) <> (identity_id IS NULL)),
  UNIQUE (key_id, name),
  UNIQUE (identity_id, name)
);

CREATE TABLE permissions (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  name         text NOT NULL,
  slug         text NOT NULL,
  description  text,
  created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX permissions_slug ON permissions (workspace_id, lower(slug));
CREATE INDEX permissions_of_workspace ON permissions (workspace_id, id);

CREATE TABLE roles (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  name         text NOT NULL,
  description  text,
  created_at   timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX roles_name ON roles (workspace_id, lower(name));
CREATE INDEX roles_of_workspace ON roles (workspace_id, id);

CREATE TABLE role_permissions (
  role_id       text NOT NULL REFERENCES roles ON DELETE CASCADE,
  permission_id text NOT NULL REFERENCES permissions ON DELETE CASCADE,
  PRIMARY KEY (role_id, permission_id)
);

CREATE INDEX role_permissions_by_permission ON role_permissions (permission_id);

CREATE TABLE key_roles (
  key_id  text NOT NULL REFERENCES keys ON DELETE CASCADE,
  role_id text NOT NULL REFERENCES roles ON DELETE CASCADE,
  PRIMARY KEY (key_id, role_id)
);

CREATE INDEX key_roles_by_role ON key_roles (role_id);

CREATE TABLE key_permissions (
  key_id        text NOT NULL REFERENCES keys ON DELETE CASCADE,
  permission_id text NOT NULL REFERENCES permissions ON DELETE CASCADE,
  PRIMARY KEY (key_id, permission_id)
);

CREATE INDEX key_permissions_by_permission ON key_permissions (permission_id);

-- Who did what, when, from where; written in the transaction of the change. Append only.
CREATE TABLE audit_log (
  id           text PRIMARY KEY,
  workspace_id text NOT NULL REFERENCES workspaces,
  time         timestamptz NOT NULL DEFAULT now(),
  event        text NOT NULL,
  description  text NOT NULL,
  actor_type   text NOT NULL,
  actor_id     text NOT NULL,
  remote_ip    text,
  user_agent   text,
  request_id   text,
  targets      jsonb NOT NULL,
  meta         jsonb
);

CREATE INDEX audit_log_of_workspace ON audit_log (workspace_id, time);

-- Root keys live in a workspace of their own and act on the one in `for_workspace_id`.
INSERT INTO workspaces (id, name) VALUES ('ws_operator', 'Operator'), ('ws_default', 'Default');
INSERT INTO key_spaces (id, workspace_id, store_encrypted_keys, default_prefix)
  VALUES ('ks_root', 'ws_operator', false, 'vedette');
