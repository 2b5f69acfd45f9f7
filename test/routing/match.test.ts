import { describe, expect, it } from "vitest";
import type { Condition } from "#routing/contract.ts";
import { simulate } from "#routing/match.ts";
import { routes } from "../support/monitor/standard-definitions.ts";
import { aRoute } from "../support/routing/route-rows.ts";

describe("the routes of src/routing/routes.ts", () => {
  const pages = ["Engineering On-Call"];
  const rows: [string, Record<string, string>, string[], string[]][] = [
    ["alertmanager-production", { severity: "critical" }, ["Production Alerts"], pages],
    ["alertmanager-production", { severity: "warning" }, ["Production Warnings"], []],
    ["alertmanager-production", {}, ["Unrouted Alerts"], []],
    ["alertmanager-production", { severity: "info" }, [], []],
    ["synthetic-production", {}, ["Production Alerts"], pages],
    ["critical-mailbox", {}, ["Production Alerts"], pages],
    ["dashboard-alerting", {}, ["Production Alerts"], pages],
    ["database-host", { branch: "main" }, ["Database Alerts"], pages],
    ["database-host", { branch: "preview" }, [], []],
    ["alertmanager-staging", { severity: "critical" }, ["Staging Notifications"], []],
    ["synthetic-staging", {}, ["Staging Notifications"], []],
    ["log-analytics", {}, ["Informational"], []],
    ["status-page-views", {}, ["Informational"], []],
  ];

  it.each(rows)("an alert of %s with %j goes to %j and pages %j", (source, labels, to, paged) => {
    const found = simulate({ source, labels }, routes);

    expect(found.routes.filter(({ matches }) => matches).map(({ route }) => route)).toEqual(to);
    expect(found.pages).toEqual(paged);
    expect(found.channels).toEqual(to.length === 0 ? [] : ["#alerts"]);
  });
});

it("the simulation says of a route with times that Alertmanager may hold its alerts back", () => {
  const activeTimes = [{ from: "09:00", until: "17:00", timezone: "UTC" }];
  const found = simulate({ source: "metrics", labels: {} }, [aRoute({ activeTimes })]);

  expect(found.routes[0]?.because).toContain("; Alertmanager may hold it back");
});

describe("a condition", () => {
  const holds = (condition: Condition, labels: Record<string, string>) => {
    const sources = [{ source: "metrics", conditions: [condition] }];
    return simulate({ source: "metrics", labels }, [aRoute({ sources })]).routes[0]?.matches;
  };
  const oneOf: Condition = { label: "severity", operation: "one_of", values: ["a", "b"] };
  const noneOf: Condition = { label: "severity", operation: "none_of", values: ["a", "b"] };
  const isSet: Condition = { label: "severity", operation: "is_set" };
  const isNotSet: Condition = { label: "severity", operation: "is_not_set" };

  it.each<[Condition, Record<string, string>, boolean]>([
    [oneOf, { severity: "b" }, true],
    [oneOf, { severity: "c" }, false],
    [oneOf, { severity: "B" }, false],
    [oneOf, {}, false],
    [noneOf, { severity: "c" }, true],
    [noneOf, { severity: "a" }, false],
    [isSet, { severity: "c" }, true],
    [isSet, { other: "c" }, false],
    [isNotSet, { other: "c" }, true],
    [isNotSet, { severity: "c" }, false],
  ])("%j of %j: %s", (condition, labels, expected) => {
    expect(holds(condition, labels)).toBe(expected);
  });

  it("takes a label that is empty for one that is not there", () => {
    expect(holds(isNotSet, { severity: "" })).toBe(true);
  });

  it("does not take what every object has for a label", () => {
    expect(holds({ label: "constructor", operation: "is_set" }, {})).toBe(false);
  });
});

it("an alert has to meet all conditions of a source", () => {
  const conditions: Condition[] = [
    { label: "severity", operation: "one_of", values: ["critical"] },
    { label: "team", operation: "is_set" },
  ];
  const route = aRoute({ sources: [{ source: "metrics", conditions }] });

  const found = simulate({ source: "metrics", labels: { severity: "critical" } }, [route]);

  expect(found.routes).toMatchObject([{ matches: false, because: "team is not set" }]);
});

it("an alert that two routes take pages and posts once by each name", () => {
  const twice = [
    aRoute({ name: "One", escalation: "On-Call" }),
    aRoute({ name: "Two", escalation: "On-Call", channel: "#other" }),
  ];

  const found = simulate({ source: "metrics", labels: {} }, twice);

  expect(found.pages).toEqual(["On-Call"]);
  expect(found.channels).toEqual(["#alerts", "#other"]);
});
