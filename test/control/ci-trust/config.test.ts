import { expect, it } from "vitest";
import { readConfig } from "#config.ts";

const row = {
  name: "github:acme/shop",
  audience: "https://v.example.com",
  repository_id: 1,
  ref: "main",
};

const read = (...rows: object[]) =>
  readConfig({ environment: { VEDETTE_CONTROL__CI_TRUST: JSON.stringify(rows) } }).control.ci_trust;

it("a row of GitHub has its issuer, the whole ref, and operate", () => {
  expect(read(row)).toEqual([
    {
      ...row,
      preset: "github",
      issuer: "https://token.actions.githubusercontent.com",
      repository_id: "1",
      ref: "refs/heads/main",
      claims: {},
      roles: ["operate"],
    },
  ]);
});

it("an empty variable has no rows", () => {
  expect(readConfig({ environment: { VEDETTE_CONTROL__CI_TRUST: "" } }).control.ci_trust).toEqual(
    [],
  );
});

it.each<[string, object, string]>([
  ["an id", { repository_id: undefined }, "repository_id: is missing"],
  ["a name in place of the id", { repository_id: "acme/shop" }, "must be the id"],
  ["ref and environment", { ref: undefined }, "any branch would count"],
  ["a branch", { ref: "*" }, "must be a branch or a tag"],
  ["a branch, but pull requests", { ref: "refs/pull/*" }, "must be a branch or a tag"],
  ["an audience", { audience: undefined }, "audience: is missing"],
  ["an audience of its own", { audience: "https://github.com/acme" }, "one of your own"],
  ["an issuer by https", { issuer: "http://ci.example.com" }, "must be an https address"],
  ["a name", { name: "A B" }, "must be lower case"],
  ["known fields", { repo: "acme/shop" }, "repo"],
  ["claims of another issuer", { preset: "other" }, "is of a preset"],
])("a row without %s is refused", (_, over, words) => {
  expect(() => read({ ...row, ...over })).toThrow(words);
});

it("a row of another issuer has to say which of its tokens", () => {
  const other = { name: "forge", preset: "other", audience: "v", issuer: "https://ci.example.com" };

  expect(() => read(other)).toThrow("claims: must say more");
  expect(read({ ...other, claims: { sub: "shop" } })).toHaveLength(1);
});

it("two rows of one name are refused", () => {
  expect(() => read(row, row)).toThrow("ci_trust.1.name: is another row's");
});
