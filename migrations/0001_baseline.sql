-- The schema of version 0.2.0, the first that was released.

-- The fleet as last observed, and what is known of its lists and deploys. `singleton` is the default fleet.

CREATE TABLE sentinels (
  id             text PRIMARY KEY,
  region         text NOT NULL,
  image          text NOT NULL,
  running_image  text NOT NULL,
  previous_image text,
  deploy_status  text NOT NULL CHECK (deploy_status IN ('progressing', 'ready', 'failed')),
  deploy_reason  text,
  health         text NOT NULL CHECK (health IN ('healthy', 'unhealthy', 'unknown')),
  updated_at     timestamptz NOT NULL DEFAULT now(),
  -- Which deploy the sentinel was last ordered for, so that an order can be refused once its run has stopped.
  deploy_id      text,
  deploy_run     text,
  -- When the order was last allowed to go out.
  ordered_at     timestamptz,
  -- The row as it was before that order: what it is put back to when the order never went out.
  before_deploy  jsonb,
  -- As its fleet lists them.
  labels         jsonb NOT NULL DEFAULT '{}',
  fleet          text NOT NULL DEFAULT 'singleton',
  -- The deploy that a push has said is ready: one that no invocation of its own follows yet can't be told in any
  -- other way.
  pushed_deploy  text,
  -- When a list had it first; one that was gone in between has joined again.
  joined_at      timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX sentinels_by_fleet ON sentinels (fleet, id);

CREATE TABLE stopped_runs (
  run        text PRIMARY KEY,
  stopped_at timestamptz NOT NULL DEFAULT now()
);

-- Which list of a fleet the table `sentinels` shows, and what is wrong with a newer one.
CREATE TABLE fleet_lists (
  fleet        text PRIMARY KEY,
  -- When the list that was written last had been asked for. An older one is not written any more.
  asked_at     timestamptz,
  -- Why the last attempt wrote nothing; null after one that did.
  problem      text,
  problem_at   timestamptz,
  -- Who last accepted a list that lacked many sentinels, and when; null while nobody has.
  confirmed_by text,
  confirmed_at timestamptz,
  -- When the sentinels were last compared with their desired images; null: never.
  compared_at  timestamptz
);

INSERT INTO fleet_lists (fleet) VALUES ('singleton');

-- The last lines of what a deploy that has failed had started: of each sentinel those of its newest one.
CREATE TABLE sentinel_logs (
  sentinel_id text PRIMARY KEY REFERENCES sentinels (id) ON DELETE CASCADE,
  deploy_id   text NOT NULL,
  image       text NOT NULL,
  reason      text NOT NULL,
  at          timestamptz NOT NULL DEFAULT now(),
  -- With a newline between each two. Empty: none are kept, and `note` says why.
  lines       text NOT NULL,
  note        text
);

-- The history of rollouts, and what operators have set for them.

CREATE TABLE rollouts (
  id               text PRIMARY KEY,
  image            text NOT NULL,
  requested_image  text NOT NULL,
  wave_percentages integer[] NOT NULL,
  state            text NOT NULL,
  reason           text,
  started_by       text,
  -- The starter's accounts, by which nobody approves their own; null: none is known.
  accounts         text[],
  current_wave     integer NOT NULL DEFAULT 0,
  total_waves      integer NOT NULL DEFAULT 0,
  total            integer NOT NULL DEFAULT 0,
  succeeded        integer NOT NULL DEFAULT 0,
  failed           integer NOT NULL DEFAULT 0,
  reverted         integer NOT NULL DEFAULT 0,
  started_at       timestamptz NOT NULL,
  updated_at       timestamptz NOT NULL,
  ended_at         timestamptz,
  -- Grows with every transition, so that a late write never overwrites a newer one.
  sequence         bigint NOT NULL DEFAULT 0,
  -- Why it is paused, how it ended, what it waits for, and what was asked of it, as Status says it.
  cause            text,
  outcome          text,
  waiting_for      text,
  waits_until      timestamptz,
  policy           jsonb NOT NULL DEFAULT '{}',
  -- What each wave is.
  waves            jsonb NOT NULL DEFAULT '[]',
  left_out         integer NOT NULL DEFAULT 0,
  -- What showed at the start that the image has passed CI; null: nothing was asked for.
  ci               jsonb,
  fleet            text NOT NULL DEFAULT 'singleton',
  -- The last readings of the gates before the newest of its waves that had some; null: none had.
  gate             jsonb,
  -- The gates as they were asked for, and how many sentinels the fleet had; null: none, or not known.
  gates            jsonb,
  fleet_size       integer,
  -- The job of CI that has started it; null: none has.
  ci_run           jsonb,
  -- Its approvals; null: none. The last readings of the gates after each wave, by the wave's number.
  approved         jsonb,
  wave_gates       jsonb NOT NULL DEFAULT '{}'
);

CREATE INDEX rollouts_by_start ON rollouts (started_at DESC);
CREATE INDEX rollouts_by_fleet ON rollouts (fleet, started_at DESC);

-- Each row is inserted before its deploy and updated once after it: with room in its page no index changes.
CREATE TABLE rollout_sentinels (
  rollout_id     text NOT NULL REFERENCES rollouts (id) ON DELETE CASCADE,
  sentinel_id    text NOT NULL,
  wave           integer NOT NULL,
  previous_image text NOT NULL,
  outcome        text
    CHECK (outcome IN ('succeeded', 'failed', 'reverted', 'not_reverted', 'left_out')),
  reason         text,
  updated_at     timestamptz NOT NULL,
  -- An outcome may change more than once: a failure is tried again, a success fails in its soak. The later write
  -- counts, by the sequence of the rollout that it was made with.
  sequence       bigint NOT NULL DEFAULT 0,
  -- Every change of the outcome, the oldest first: the outcome (null: it is tried again), when it was recorded, and
  -- when its deploy was ordered (null: not known), both in ms since 1970; then true if the fleet's API was to blame.
  changes        jsonb NOT NULL DEFAULT '[]',
  -- Why it failed, also after a rollback has put it back; null: it has not, or its deploy was tried again.
  failure        text,
  -- As the fleet listed it when the rollout began, for replays; null: not known, or no labels.
  region         text,
  labels         jsonb,
  PRIMARY KEY (rollout_id, sentinel_id)
) WITH (fillfactor = 50);

-- The messages of a rollout, one per transition, and who caused it; null: nobody, it went on by itself.
CREATE TABLE rollout_messages (
  rollout_id text NOT NULL,
  sequence   bigint NOT NULL,
  event      text NOT NULL,
  actor      text,
  at         timestamptz NOT NULL,
  message    jsonb NOT NULL,
  PRIMARY KEY (rollout_id, sequence)
);

-- Proofs of rollouts that have ended: never changed.
CREATE TABLE rollout_proofs (
  rollout_id text NOT NULL,
  -- That of the rollout when it was made: results after the end, or a rollback, make another one.
  sequence   bigint NOT NULL,
  -- JSON, with the bytes that were signed.
  envelope   text NOT NULL,
  PRIMARY KEY (rollout_id, sequence)
);

-- The keys with which proofs are signed. The public halves stay, so that proofs can be verified for ever.
CREATE TABLE proof_keys (
  -- The thumbprint of the key (RFC 7638).
  id          text PRIMARY KEY,
  public_key  jsonb NOT NULL,
  -- null: it is retired.
  private_key text,
  created_at  timestamptz NOT NULL DEFAULT now(),
  retired_at  timestamptz
);

CREATE UNIQUE INDEX proof_keys_current ON proof_keys ((true)) WHERE retired_at IS NULL;

-- When the waves of rollouts may start, and when not.

CREATE TABLE rollout_windows (
  id        text PRIMARY KEY,
  kind      text NOT NULL CHECK (kind IN ('allowed', 'freeze')),
  -- Of the days and times of day: an IANA name.
  time_zone text NOT NULL,
  days      text[],
  from_time text,
  to_time   text,
  starts    timestamptz,
  ends      timestamptz,
  reason    text NOT NULL,
  added_by  text NOT NULL,
  added_at  timestamptz NOT NULL DEFAULT now(),
  -- Null: it holds for all fleets.
  fleet     text
);

-- Sentinels that rollouts leave out.
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
  added_at timestamptz NOT NULL DEFAULT now(),
  -- Null: it holds for all fleets.
  fleet    text,
  -- True: for all of their sentinels. Null: for those above.
  whole_fleet boolean
);

-- Sentinels that run another image than the desired one, as last compared.
CREATE TABLE fleet_drift (
  sentinel_id   text PRIMARY KEY,
  fleet         text NOT NULL,
  desired_image text NOT NULL,
  running_image text NOT NULL,
  why           text NOT NULL CHECK (why IN ('drifted', 'late', 'joined', 'failed')),
  -- When the list was requested that showed it first, and whether a later one has shown the same.
  since         timestamptz NOT NULL,
  is_confirmed  boolean NOT NULL,
  -- True if a pin keeps rollouts off it.
  is_held       boolean NOT NULL
);

CREATE INDEX fleet_drift_by_fleet ON fleet_drift (fleet);

-- The requests of a fleet's sentinels in each minute of the last two days, for gates that compare two images.
CREATE TABLE sentinel_counts (
  fleet    text NOT NULL,
  -- Its start. A row without counts is a minute that a process has claimed and has not read.
  minute   timestamptz NOT NULL,
  -- Bounds of slow requests in seconds, and how many requests of the fleet took no longer than others, too.
  bounds   double precision[],
  requests double precision,
  latency  jsonb,
  -- Compressed: the ids, and the counts of each (src/fleet/counters/store.ts).
  members  bytea,
  counts   bytea,
  PRIMARY KEY (fleet, minute)
);

-- Which fleet takes an image only after which other one has completed it.
CREATE TABLE rollout_promotions (
  id       text PRIMARY KEY,
  fleet    text NOT NULL,
  after    text NOT NULL,
  reason   text NOT NULL,
  added_by text NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now()
);

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
  deleted_at           timestamptz,
  -- NULL: an ordinary key, or a root key that an operator made. 'setting': api.root_key; 'generated': made at the
  -- first start; 'sentinels': what the local fleet's gateways verify with; 'checks': what an installation's own
  -- checks verify and limit with; 'replaced': by another one.
  origin               text
    CHECK (origin IN ('setting', 'generated', 'sentinels', 'checks', 'replaced'))
);

CREATE INDEX keys_that_are_root ON keys (id) WHERE for_workspace_id IS NOT NULL;
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

-- Who did what, when, from where; written with the change. Append only: a row is changed once, when it is sealed.
CREATE TABLE audit_log (
  id           text PRIMARY KEY,
  -- Null: it concerns no workspace of the API.
  workspace_id text REFERENCES workspaces,
  time         timestamptz NOT NULL DEFAULT now(),
  event        text NOT NULL,
  description  text NOT NULL,
  actor_type   text NOT NULL,
  actor_id     text NOT NULL,
  remote_ip    text,
  user_agent   text,
  request_id   text,
  targets      jsonb NOT NULL,
  meta         jsonb,
  -- Its place in the chain, without gaps, in the order in which rows were committed; null: not sealed yet.
  seq          bigint UNIQUE,
  -- SHA-256 over the hash of the row before it and its own content.
  hash         bytea
) WITH (fillfactor = 70);

CREATE INDEX audit_log_of_workspace ON audit_log (workspace_id, time);
-- Read by time over all workspaces, newest first.
CREATE INDEX audit_log_by_time ON audit_log (time, id);
CREATE INDEX audit_log_unsealed ON audit_log (time, id) WHERE seq IS NULL;

-- One row: the last place of the chain that was given, so that rows missing at its end are noticed.
CREATE TABLE audit_head (
  is_the_only_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_only_one),
  seq             bigint NOT NULL DEFAULT 0,
  hash            bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex')
);

INSERT INTO audit_head DEFAULT VALUES;

-- The last row that a channel has accepted.
CREATE TABLE audit_deliveries (
  channel      text PRIMARY KEY,
  seq          bigint NOT NULL,
  -- While a process sends the next ones; once this is over, it has died.
  leased_until timestamptz
);

-- The operators and CI jobs that the settings let in at the last start of `control`, with a digest of what each may do.
CREATE TABLE audit_grants (
  kind   text NOT NULL,
  name   text NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (kind, name)
);

-- Root keys live in a workspace of their own and act on the one in `for_workspace_id`.
INSERT INTO workspaces (id, name) VALUES ('ws_operator', 'Operator'), ('ws_default', 'Default');
INSERT INTO key_spaces (id, workspace_id, store_encrypted_keys, default_prefix)
  VALUES ('ks_root', 'ws_operator', false, 'vedette');

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

-- Certificates of the API's own names, got by ACME (RFC 8555), where every process finds them.

CREATE TABLE certificates (
  -- The names that it is for, sorted, with commas between them.
  names             text PRIMARY KEY,
  -- PEM, the certificate itself first.
  chain             text NOT NULL,
  -- Its private key, sealed as recoverable keys are.
  sealed            bytea NOT NULL,
  encryption_key_id text NOT NULL,
  issued_at         timestamptz NOT NULL,
  expires_at        timestamptz NOT NULL
);

-- What the authority is to find below /.well-known/acme-challenge/ while an order is under way.
CREATE TABLE acme_challenges (
  token             text PRIMARY KEY,
  key_authorization text NOT NULL,
  created_at        timestamptz NOT NULL DEFAULT now()
);

-- The key by which an authority knows us.
CREATE TABLE acme_accounts (
  directory_url     text PRIMARY KEY,
  sealed            bytea NOT NULL,
  encryption_key_id text NOT NULL
);

-- With which `api.encryption_keys` this database is used, so that a process with others is refused.

CREATE TABLE encryption_key_marks (
  id       text PRIMARY KEY,
  -- The first one seals.
  position integer NOT NULL,
  -- Made from the key, which cannot be told from it.
  mark     bytea NOT NULL
);

-- What checks found: single results in monthly partitions, minutes and hours of them, alerts, and
-- how each check stands now.

CREATE TABLE check_results (
  check_id      text NOT NULL,
  -- The tick that the run belongs to, the same at every location.
  scheduled_at  timestamptz NOT NULL,
  location      text NOT NULL,
  started_at    timestamptz NOT NULL,
  grade         text NOT NULL CHECK (grade IN ('ok', 'degraded', 'failed')),
  cause         text CHECK (cause IN ('slow', 'assertion', 'error')),
  duration_ms   real NOT NULL,
  dns_ms        real,
  connect_ms    real,
  tls_ms        real,
  first_byte_ms real,
  transfer_ms   real,
  status        integer,
  reason        text,
  tls_days_left integer,
  PRIMARY KEY (check_id, scheduled_at, location)
) PARTITION BY RANGE (scheduled_at);

-- Minutes and hours are made over all checks at once, by time.
CREATE INDEX check_results_by_time ON check_results USING brin (scheduled_at);

CREATE TABLE check_rollups (
  check_id       text NOT NULL,
  bucket_seconds integer NOT NULL CHECK (bucket_seconds IN (60, 900, 3600)),
  -- Empty: all locations together.
  location       text NOT NULL,
  starts_at      timestamptz NOT NULL,
  results        integer NOT NULL,
  ok             integer NOT NULL,
  degraded       integer NOT NULL,
  failed         integer NOT NULL,
  runs           integer NOT NULL,
  failed_runs    integer NOT NULL,
  p50_ms         real NOT NULL,
  p95_ms         real NOT NULL,
  p99_ms         real NOT NULL,
  max_ms         real NOT NULL,
  -- Means; null when no result had the phase.
  dns_ms         real,
  connect_ms     real,
  tls_ms         real,
  first_byte_ms  real,
  transfer_ms    real,
  PRIMARY KEY (check_id, bucket_seconds, location, starts_at)
);

CREATE INDEX check_rollups_by_time ON check_rollups (bucket_seconds, starts_at);

-- Up to where minutes and hours are made.
CREATE TABLE check_rollup_marks (
  bucket_seconds integer PRIMARY KEY,
  done_until     timestamptz NOT NULL
);

-- Ticks that nobody ran, because the monitor was away or too busy.
CREATE TABLE check_missed_ticks (
  check_id text NOT NULL,
  from_at  timestamptz NOT NULL,
  to_at    timestamptz NOT NULL,
  ticks    integer NOT NULL,
  PRIMARY KEY (check_id, from_at)
);

CREATE TABLE check_episodes (
  check_id              text NOT NULL,
  episode               integer NOT NULL,
  opened_at             timestamptz NOT NULL,
  resolved_at           timestamptz,
  reason                text NOT NULL,
  locations             text[] NOT NULL,
  missed_pings          integer,
  -- When the receiver of alerts accepted the event; null: not yet, or nobody is to be told.
  opened_delivered_at   timestamptz,
  resolved_delivered_at timestamptz,
  -- The rollout that was in progress: its image and wave, and whether it had ended.
  rollout               jsonb,
  -- What changed before it and may be its cause, the likeliest first; null: it was not found out in time.
  changes               jsonb,
  PRIMARY KEY (check_id, episode)
);

CREATE INDEX check_episodes_by_time ON check_episodes (opened_at DESC);

CREATE TABLE check_states (
  id      text PRIMARY KEY,
  kind    text NOT NULL CHECK (kind IN ('api', 'heartbeat')),
  -- src/monitor/state/row.ts
  row     jsonb NOT NULL,
  -- When it is decided next; null: by a report, a ping, an operator or a new definition alone.
  wake_at timestamptz,
  -- When it was found to be defined no more; null: it is, or was not looked for yet.
  removed_at timestamptz
) WITH (fillfactor = 70);

CREATE INDEX check_states_by_wake ON check_states (wake_at) WHERE wake_at IS NOT NULL;

-- When a check failed and alerted nobody, because something that it depends on failed.

CREATE TABLE check_suppressions (
  check_id      text NOT NULL,
  began_at      timestamptz NOT NULL,
  -- null: it lasts.
  ended_at      timestamptz,
  -- The check or heartbeat that failed.
  suppressed_by text NOT NULL,
  -- What the alert would have said.
  reason        text NOT NULL,
  PRIMARY KEY (check_id, began_at)
);

-- Where heartbeats are pinged, who else runs checks, and when pings were listened for.

-- Those that have a ping URL.
CREATE TABLE heartbeats (
  id            text PRIMARY KEY,
  -- SHA-256 of the token in the ping URL.
  token_hash    bytea NOT NULL UNIQUE,
  -- Who made the ping URL, or replaced it.
  registered_by text NOT NULL,
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- The last success that came while it was not watched.
  last_ping_at  timestamptz,
  -- Whether each of its pings is to be decided: unless it is ok, so that a success only moves its deadline.
  is_watched    boolean NOT NULL DEFAULT true
) WITH (fillfactor = 50);

-- Pings that are to be decided, in their order; deleted by the transaction that does so.
CREATE TABLE heartbeat_pings (
  id        text NOT NULL,
  seq       bigint GENERATED ALWAYS AS IDENTITY,
  kind      text NOT NULL CHECK (kind IN ('success', 'start', 'fail')),
  at        timestamptz NOT NULL,
  exit_code integer,
  -- Of a drill.
  reason    text,
  PRIMARY KEY (id, seq)
);

CREATE TABLE check_runners (
  location   text PRIMARY KEY,
  -- SHA-256 of the runner's token.
  token_hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- When it last asked for its work; until it does once nobody waits for its reports.
  seen_at    timestamptz,
  -- Who added the runner, or replaced its token.
  added_by   text NOT NULL
);

-- Spans in which pings were listened for: a row for each process that does, and a further one whenever it
-- could not for a while. What lies between the spans is what nobody heard.
CREATE TABLE monitor_presence (
  part      text PRIMARY KEY,
  since     timestamptz NOT NULL,
  seen_at   timestamptz NOT NULL,
  -- Whether the process ended in good order, so that nobody waits for another note.
  has_left  boolean NOT NULL DEFAULT false
);

-- What became of each alert event and of each notice on its way to a channel.

CREATE TABLE alert_events (
  -- <check id>:<episode>:<kind>; of a notice <key of its queue>:<notice id>
  event_id        text PRIMARY KEY,
  check_id        text,
  name            text NOT NULL,
  episode         integer,
  kind            text NOT NULL CHECK (kind IN ('opened', 'resolved', 'notice')),
  environment     text,
  channel         text NOT NULL,
  -- The change of the alert as it was handed over; null: it is a notice.
  transition      jsonb,
  notice          jsonb,
  -- The key that the notice was posted to.
  topic           text,
  status          text NOT NULL
    CHECK (status IN ('pending', 'accepted', 'dead', 'superseded', 'not_posted')),
  attempts        integer NOT NULL,
  cause           text,
  event_at        timestamptz NOT NULL,
  queued_at       timestamptz NOT NULL,
  -- Only of one that waits to be tried again.
  next_attempt_at timestamptz,
  accepted_at     timestamptz,
  -- Who last sent the event again; null while nobody has.
  retried_by      text
);

CREATE INDEX alert_events_by_time ON alert_events (queued_at DESC);

-- What an operator looks for; few rows.
CREATE INDEX alert_events_open ON alert_events (status, queued_at) WHERE status IN ('pending', 'dead');

-- The deliveries of the notices of a rollout.
CREATE INDEX alert_events_by_notice ON alert_events ((notice ->> 'id')) WHERE notice IS NOT NULL;

-- Orders to send, inserted by the transaction that decided them; deleted once they are in their queue.

CREATE TABLE alert_outbox (
  seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue  text NOT NULL,
  -- null: the queue's next attempt is due at once.
  order_ jsonb
);

CREATE INDEX alert_outbox_by_queue ON alert_outbox (queue);

-- The queue of a check's events, or of a topic's notices, at one channel.
CREATE TABLE alert_queues (
  key           text PRIMARY KEY,
  -- null: nothing was in it yet.
  queue         jsonb,
  -- When its next attempt is due; null: none is.
  due_at        timestamptz,
  -- While an attempt runs; once this is over, its process has died.
  leased_until  timestamptz,
  -- Outcomes for drills at Restate, which has not taken them yet.
  drill_outcomes jsonb
);

CREATE INDEX alert_queues_due ON alert_queues (coalesce(leased_until, due_at))
  WHERE coalesce(leased_until, due_at) IS NOT NULL;

CREATE INDEX alert_queues_drills ON alert_queues (key) WHERE drill_outcomes IS NOT NULL;

-- What alert routes said before each apply, as the incident service told it.
CREATE TABLE alert_route_backups (
  backup       text PRIMARY KEY,
  made_at      timestamptz NOT NULL,
  incident_url text NOT NULL,
  -- Not jsonb: it is kept to the letter.
  alert_routes json NOT NULL
);

CREATE INDEX alert_route_backups_by_time ON alert_route_backups (made_at DESC);

-- The definitions of checks, heartbeats, channels, alert sources and alert routes, as they were applied: the
-- row with the highest revision is in force, those before it are the history.

CREATE TABLE definitions (
  revision   integer PRIMARY KEY,
  -- The call that applied it: a repeated step of the same call finds its own row.
  apply_id   text NOT NULL,
  -- standard: a start without a file. file: a start with one. command: `vedette config apply`.
  source     text NOT NULL,
  applied_by text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  -- All rows by section, with their defaults.
  rows       jsonb NOT NULL,
  -- What differs from the revision before.
  changes    jsonb NOT NULL
);

-- One row: an installation is its database, and what else is its own names this id.
CREATE TABLE installation (
  is_the_only_one boolean PRIMARY KEY DEFAULT true CHECK (is_the_only_one),
  id              text NOT NULL DEFAULT gen_random_uuid()::text,
  created_at      timestamptz NOT NULL DEFAULT now()
);

INSERT INTO installation DEFAULT VALUES;

-- Starts of processes, so that an alert can name the one before it.
CREATE TABLE process_starts (
  id         text PRIMARY KEY,
  -- What runs in it: its roles.
  part       text NOT NULL,
  version    text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  -- null: it runs, or was killed.
  stopped_at timestamptz,
  -- A digest of each setting, by name.
  settings   jsonb NOT NULL
);

CREATE INDEX process_starts_by_part ON process_starts (part, started_at);

-- Secrets that every process of an installation shares. `actor`: callers' names are signed with it on
-- their way from the gateway, through Restate, to the worker.

CREATE TABLE shared_keys (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);

-- With which body an idempotency key came first: with another one its answer would be no answer.

CREATE TABLE control_call_keys (
  -- SHA-256 of the caller, what is called and the key.
  key_hash  bytea PRIMARY KEY,
  -- SHA-256 of the body.
  body_hash bytea NOT NULL,
  seen_at   timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX control_call_keys_seen_at ON control_call_keys (seen_at);

-- The name that an account of the identity provider has here. Names come from a claim, and people may change the
-- value of one there, such as an e-mail address: under a second name somebody could approve their own rollout, and a
-- new account with the address of somebody who has left would go on under that name. Therefore a name belongs to the
-- first account that had it, and an account keeps its first name.
CREATE TABLE sign_in_names (
  issuer   text NOT NULL,
  -- The claim `sub`: of an account, it never changes, and never becomes another account's.
  subject  text NOT NULL,
  name     text NOT NULL,
  first_at timestamptz NOT NULL DEFAULT now(),
  last_at  timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject),
  UNIQUE (issuer, name)
);

-- Tokens with which CI jobs have called: each counts once. A row is deleted after two days, when its token is too old.
CREATE TABLE ci_tokens (
  -- SHA-256 of the issuer and of the number that it gave the token.
  token_hash bytea PRIMARY KEY,
  used_at    timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX ci_tokens_used_at ON ci_tokens (used_at);

-- Sessions that were signed out of before they ended by themselves.
CREATE TABLE console_logouts (
  session_id text PRIMARY KEY,
  ends_at    timestamptz NOT NULL
);

-- Tickets of the links that a start prints: each signs in at the console once, within five minutes. A row is
-- deleted by the sign-in that uses it, so that of several processes, and after a crash, only one can.
CREATE TABLE console_tickets (
  -- A digest with a key: neither the row nor the ingress token alone makes a ticket.
  digest  bytea PRIMARY KEY,
  ends_at timestamptz NOT NULL
);
