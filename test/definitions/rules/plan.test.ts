import { expect, it } from "vitest";
import { CheckRow } from "#definitions/rows/check.ts";
import { emptySet } from "#definitions/rows/contract.ts";
import { HeartbeatRow } from "#definitions/rows/heartbeat.ts";
import { planApply } from "#definitions/rules/plan.ts";

const checkOf = (id: string, fields: object = {}) =>
  CheckRow.parse({ id, url: "https://shop.example.com/health", ...fields });
const nightly = HeartbeatRow.parse({ id: "nightly", periodSeconds: 86_400, graceSeconds: 3_600 });
const present = { ...emptySet, checks: [checkOf("shop"), checkOf("blog")], heartbeats: [nightly] };
const wantOnly = (definitions: object) => ({
  definitions: { ...emptySet, ...definitions },
  removed: [],
  prune: false,
});

it("the plan finds nothing to do in the rows that are in force", () => {
  const again = JSON.parse(JSON.stringify(present)) as typeof present;

  expect(planApply(present, wantOnly(again)).changes).toEqual([]);
});

it("the plan names the fields of a changed row", () => {
  const checks = [checkOf("shop", { frequencySeconds: 30, name: "Shop" }), checkOf("blog")];

  const { changes, next } = planApply(present, wantOnly({ checks, heartbeats: [nightly] }));

  expect(changes).toEqual([
    { section: "checks", key: "shop", kind: "change", fields: ["frequencySeconds", "name"] },
  ]);
  expect(next.checks).toEqual(checks);
});

it("the plan leaves the rows that the definitions lack, and keeps them in force", () => {
  const { changes, next } = planApply(present, wantOnly({ checks: [checkOf("docs")] }));

  expect(changes).toEqual([
    { section: "checks", key: "docs", kind: "add" },
    { section: "checks", key: "shop", kind: "leave" },
    { section: "checks", key: "blog", kind: "leave" },
    { section: "heartbeats", key: "nightly", kind: "leave" },
  ]);
  expect(next.checks.map(({ id }) => id)).toEqual(["docs", "shop", "blog"]);
  expect(next.heartbeats).toEqual([nightly]);
});

it("the plan removes those rows when it may prune", () => {
  const { changes, next } = planApply(present, { ...wantOnly({}), prune: true });

  expect(changes.map(({ key, kind }) => [key, kind])).toEqual([
    ["shop", "remove"],
    ["blog", "remove"],
    ["nightly", "remove"],
  ]);
  expect(next).toEqual(emptySet);
});

it("the plan removes a check that became a heartbeat of the same id, and the other way round", () => {
  const shop = HeartbeatRow.parse({ id: "shop", periodSeconds: 60, graceSeconds: 0 });
  const rows = { checks: [checkOf("nightly")], heartbeats: [shop] };

  const { changes, next } = planApply(present, wantOnly(rows));

  expect(changes).toEqual([
    { section: "checks", key: "nightly", kind: "add" },
    { section: "checks", key: "shop", kind: "remove" },
    { section: "checks", key: "blog", kind: "leave" },
    { section: "heartbeats", key: "shop", kind: "add" },
    { section: "heartbeats", key: "nightly", kind: "remove" },
  ]);
  expect(next.checks.map(({ id }) => id)).toEqual(["nightly", "blog"]);
  expect(next.heartbeats.map(({ id }) => id)).toEqual(["shop"]);
});

it("the plan removes a row that is named as removed, and no other of its name", () => {
  const removed = [{ section: "checks" as const, key: "nightly" }];
  const named = { section: "checks" as const, key: "blog" };

  const { next } = planApply(present, { ...wantOnly({}), removed: [...removed, named] });

  expect(next.checks.map(({ id }) => id)).toEqual(["shop"]);
  expect(next.heartbeats).toEqual([nightly]);
});
