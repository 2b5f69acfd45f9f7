import { expect, it } from "vitest";
import { missingSettings } from "#monitor/probe/secrets.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";

const both = anApiCheck({
  headers: { authorization: "Bearer {{ROOT_KEY}}" },
  body: { key: "{{KEY}}", again: "{{KEY}}" },
});

it.each([
  { secrets: { KEY: "k", ROOT_KEY: "r" }, missing: [] },
  { secrets: { KEY: "", ROOT_KEY: "r" }, missing: ["monitor.key"] },
  { secrets: { KEY: "k", ROOT_KEY: "" }, missing: ["monitor.root_key"] },
  { secrets: { KEY: "", ROOT_KEY: "" }, missing: ["monitor.root_key", "monitor.key"] },
])("lacks $missing with $secrets", ({ secrets, missing }) => {
  expect(missingSettings(both, secretsFrom(secrets))).toEqual(missing);
});

it("lacks a secret of one's own by the name of its variable", () => {
  const check = anApiCheck({ path: "https://shop.example.com/?token={{SHOP_TOKEN}}" });

  expect(missingSettings(check, () => undefined)).toEqual(["VEDETTE_SECRET_SHOP_TOKEN"]);
});

it("lacks nothing that it does not name", () => {
  const check = anApiCheck({ headers: {}, body: null });

  expect(missingSettings(check, () => undefined)).toEqual([]);
});
