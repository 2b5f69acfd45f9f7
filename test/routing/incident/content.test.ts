import { expect, it } from "vitest";
import { digestOf, toContent } from "#routing/incident/content.ts";
import type { Content } from "#routing/incident/contract.ts";
import { diffContent, diffThreeWays } from "#routing/incident/diff.ts";
import { isInStep, overlay } from "#routing/incident/overlay.ts";

const isSame = (one: Content, other: Content) => digestOf(one) === digestOf(other);

it("a condition is read in the shape in which it is written", () => {
  const read = {
    id: "01R",
    version: 7,
    condition_groups: [
      {
        conditions: [
          {
            subject: { label: "Alert → Severity", reference: "alert.attributes.01A" },
            operation: { label: "is one of", value: "one_of" },
            param_bindings: [{ array_value: [{ label: "critical", literal: "critical" }] }],
          },
        ],
      },
    ],
  };

  expect(toContent(read)).toEqual({
    condition_groups: [
      {
        conditions: [
          {
            subject: "alert.attributes.01A",
            operation: "one_of",
            param_bindings: [{ array_value: [{ literal: "critical" }] }],
          },
        ],
      },
    ],
  });
});

it("the content of a route keeps unknown members", () => {
  expect(toContent({ id: "01R", of_next_year: { on: true } })).toEqual({
    of_next_year: { on: true },
  });
});

it.each<[string, Content, Content]>([
  ["0 and nothing", { defer_time_seconds: 0 }, {}],
  ["an empty text and nothing", { reference: "" }, {}],
  ["JSON text that is escaped for HTML", { literal: '"a > b"' }, { literal: '"a \\u003e b"' }],
  [
    "parameters and more empty ones",
    { param_bindings: [{ value: 1 }] },
    { param_bindings: [{ value: 1 }, {}, { value: null }] },
  ],
  ["an empty list and null", { grouping_keys: [] }, { grouping_keys: null }],
  ["false and nothing", { auto_relate_grouped_alerts: false }, {}],
  [
    "a group that asks for nothing and no group",
    { condition_groups: [{ conditions: [] }] },
    { condition_groups: [] },
  ],
  [
    "sources in another order",
    { alert_sources: [{ alert_source_id: "1" }, { alert_source_id: "2" }] },
    { alert_sources: [{ alert_source_id: "2" }, { alert_source_id: "1" }] },
  ],
  [
    "a channel with its workspace and without",
    { array_value: [{ literal: "T1AB/C2CD" }] },
    { array_value: [{ literal: "C2CD" }] },
  ],
  ["JSON in a text", { literal: '{"b":1,"a":[2]}' }, { literal: '{ "a": [2], "b": 1 }' }],
])("the comparison takes %s for the same", (_what, one, other) => {
  expect(isSame(one, other)).toBe(true);
});

it.each<[string, Content, Content]>([
  ["another window", { grouping_window_seconds: 60 }, { grouping_window_seconds: 61 }],
  ["a source less", { alert_sources: [{ alert_source_id: "1" }] }, { alert_sources: [] }],
  [
    "steps in another order",
    { operations: [{ operation_type: "a" }, { operation_type: "b" }] },
    { operations: [{ operation_type: "b" }, { operation_type: "a" }] },
  ],
  [
    "parameters in another order",
    { param_bindings: [{ value: 1 }, { value: 2 }] },
    { param_bindings: [{ value: 2 }, { value: 1 }] },
  ],
])("the comparison takes %s for a difference", (_what, one, other) => {
  expect(isSame(one, other)).toBe(false);
});

it("the comparison ignores users that only repeat the escalation path", () => {
  const path = { array_value: [{ literal: "01PATH" }] };
  const read = { escalation_targets: [{ escalation_paths: path, users: path }] };
  const byHand = { array_value: [{ literal: "01USER" }] };

  expect(toContent(read)).toEqual({ escalation_targets: [{ escalation_paths: path }] });
  expect(toContent({ escalation_targets: [{ escalation_paths: path, users: byHand }] })).toEqual({
    escalation_targets: [{ escalation_paths: path, users: byHand }],
  });
});

it("the content of a route leaves what is not declared as it is", () => {
  const current = { enabled: false, incident_config: { enabled: false, defer_time_seconds: 30 } };

  const next = overlay(current, { enabled: true, incident_config: { enabled: false } });

  expect(next).toEqual({
    enabled: true,
    incident_config: { enabled: false, defer_time_seconds: 30 },
  });
});

it("the content of a route keeps what a source says besides, and drops sources that are not declared", () => {
  const current = {
    alert_sources: [
      { alert_source_id: "1", of_next_year: true, condition_groups: [] },
      { alert_source_id: "2", condition_groups: [] },
    ],
  };

  const next = overlay(current, {
    alert_sources: [{ alert_source_id: "1", condition_groups: [] }],
  });

  expect(next).toEqual({
    alert_sources: [{ alert_source_id: "1", of_next_year: true, condition_groups: [] }],
  });
});

it("the comparison finds a user who was added to the escalation by hand", () => {
  const path = { array_value: [{ literal: "01PATH" }] };
  const declared = { escalation_targets: [{ escalation_paths: path, users: { array_value: [] } }] };
  const users = { array_value: [{ literal: "01USER" }] };

  expect(isInStep({ escalation_targets: [{ escalation_paths: path }] }, declared)).toBe(true);
  expect(isInStep({ escalation_targets: [{ escalation_paths: path, users }] }, declared)).toBe(
    false,
  );
});

it("the comparison lists differences field by field, sources by their id", () => {
  const before = { enabled: true, alert_sources: [{ alert_source_id: "1", filter: "a" }] };
  const after = { enabled: false, alert_sources: [{ alert_source_id: "1", filter: "b" }] };

  expect(diffContent(before, after)).toEqual([
    { path: "alert_sources[1].filter", before: "a", after: "b" },
    { path: "enabled", before: true, after: null },
  ]);
});

it("the comparison says who has changed which field since the common base", () => {
  const base = { a: 1, b: 1, c: 1, d: 1, e: 1 };
  const theirs = { a: 2, b: 1, c: 2, d: 2, e: 1 };
  const ours = { a: 1, b: 2, c: 3, d: 2, e: 1 };

  const changes = diffThreeWays({ base, theirs, ours });

  expect(changes.map(({ path, by }) => [path, by])).toEqual([
    ["a", "someone else"],
    ["b", "us"],
    ["c", "both"],
    ["d", "both alike"],
  ]);
});
