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
