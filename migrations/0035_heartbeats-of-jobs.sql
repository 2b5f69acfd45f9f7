-- A heartbeat that one of our own jobs pings needs no token: null until it is registered for a ping URL.
-- A process of the version before finds rows by their token, and never one without.
ALTER TABLE heartbeats ALTER COLUMN token_hash DROP NOT NULL;
