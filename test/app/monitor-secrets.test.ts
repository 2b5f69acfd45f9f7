/** Which checks are off by the settings alone. */
import { expect, it } from "vitest";
import { createWhyOff } from "#app/monitor-secrets.ts";
import { readConfig } from "#config.ts";
import { Credentials } from "#embedded/contract.ts";
import { standardDefinitions } from "../support/monitor/standard-definitions.ts";

const credentials = Credentials.parse({
  ingress_token: "t",
  root_key: "own-root-key",
  sentinel_key: "s",
  check_key: "c",
  database_password: "p",
  restate_identity_key: "i",
  encryption_key: "e",
});

function offBy(environment: Record<string, string>) {
  const config = readConfig({ file: undefined, environment });
  const whyOff = createWhyOff({ config, credentials });
  const { apiChecks } = standardDefinitions;
  const off = apiChecks.map((check) => [check.id, whyOff(check)] as const);
  return Object.fromEntries(off.filter(([, names]) => names.length > 0));
}

it("on a stock start only the check that needs a key is off", () => {
  expect(offBy({})).toEqual({ "verify-key": ["monitor.key"] });
});

it("with all secrets none is off", () => {
  expect(offBy({ VEDETTE_MONITOR__KEY: "key" })).toEqual({});
});

it("our own root key is not the one of another API", () => {
  const elsewhere = { VEDETTE_MONITOR__BASE_URL: "https://api.example.com" };

  expect(offBy(elsewhere)).toEqual({
    "verify-key": ["monitor.root_key", "monitor.key"],
    "rate-limit": ["monitor.root_key"],
  });
});
