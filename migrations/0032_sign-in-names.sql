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
