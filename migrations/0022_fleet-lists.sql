-- What is known of the fleet's own list: which one the table `sentinels` shows, and what is wrong with
-- a newer one.

CREATE TABLE fleet_lists (
  fleet      text PRIMARY KEY,
  -- When the list that was written last had been asked for. An older one is not written any more.
  asked_at   timestamptz,
  -- Why the last attempt wrote nothing; null after one that did.
  problem    text,
  problem_at timestamptz
);

INSERT INTO fleet_lists (fleet) VALUES ('singleton');
