-- Root keys with which checks call the API.

-- 'checks': what an installation's own checks verify and limit with.
ALTER TABLE keys DROP CONSTRAINT keys_origin_check;
ALTER TABLE keys ADD CONSTRAINT keys_origin_check
  CHECK (origin IN ('setting', 'generated', 'sentinels', 'checks', 'replaced'));
