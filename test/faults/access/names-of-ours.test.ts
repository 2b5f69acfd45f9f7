/** Nobody takes a name by which the program records itself, or callers who are nobody in particular. */
import { expect, it } from "vitest";
import { readConfig } from "#config.ts";
import { OperatorName } from "#control/contract.ts";
import { identifyPerson } from "#control/sign-in/claims.ts";

const names = [
  ...["reconciler", "on_failure", "watch_for", "console"],
  ...["ingress-token", "local-caller", "restate-console"],
];

it.each(names)("%s is no operator's name in the settings", (name) => {
  expect(OperatorName.safeParse(name).success).toBe(false);
});

it.each(names)("somebody whom the provider calls %s does not sign in", (name) => {
  const { oidc } = readConfig({
    environment: {
      VEDETTE_CONTROL__OIDC__ISSUER: "https://login.example.com",
      VEDETTE_CONTROL__OIDC__CLIENT_ID: "vedette",
      VEDETTE_CONTROL__OIDC__NAME_CLAIM: "preferred_username",
      VEDETTE_CONTROL__OIDC__DEFAULT_ROLES: "read",
    },
  }).control;
  const claims = { sub: "1", preferred_username: name };

  const found = identifyPerson(claims, { oidc, operators: {} });

  expect(found).toMatchObject({ refusal: { code: "unfit_name" } });
});
