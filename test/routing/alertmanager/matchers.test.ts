import { expect, it } from "vitest";
import { takesQuotes, writeMatcher } from "#routing/alertmanager/matchers.ts";
import type { Condition } from "#routing/contract.ts";

const label = "severity";

it.each<[Condition, string]>([
  [{ label, operation: "one_of", values: ["critical"] }, 'severity="critical"'],
  [{ label, operation: "one_of", values: ["critical", "page"] }, 'severity=~"critical|page"'],
  [{ label, operation: "none_of", values: ["info"] }, 'severity!="info"'],
  [{ label, operation: "none_of", values: ["info", "debug"] }, 'severity!~"info|debug"'],
  [{ label, operation: "is_set" }, 'severity!=""'],
  [{ label, operation: "is_not_set" }, 'severity=""'],
])("the condition %j is written as %s", (condition, matcher) => {
  expect(writeMatcher(condition)).toBe(matcher);
});

it("a matcher takes several values verbatim, not as patterns", () => {
  const condition: Condition = { label, operation: "one_of", values: ["a.b", "c|d"] };

  expect(writeMatcher(condition)).toBe(String.raw`severity=~"a\\.b|c\\|d"`);
});

it("escapes what would end the text", () => {
  const condition: Condition = { label, operation: "one_of", values: ['a"b\\c\nd'] };

  expect(writeMatcher(condition)).toBe(String.raw`severity="a\"b\\c\nd"`);
});

it.each([
  ["service.name", '"service.name"!=""'],
  ["two words", '"two words"!=""'],
  ['a"b\\c', String.raw`"a\"b\\c"!=""`],
  ["größe", '"größe"!=""'],
])("the label %j is put in quotes", (label, matcher) => {
  expect(writeMatcher({ label, operation: "is_set" })).toBe(matcher);
});

it.each([
  ["0.25", false],
  ["0.26.0", false],
  ["0.9.1", false],
  ["0.27", true],
  ["0.27.0", true],
  ["0.33.1", true],
  ["0.100", true],
  ["1.0", true],
])("Alertmanager %s takes labels in quotes: %s", (version, does) => {
  expect(takesQuotes(version)).toBe(does);
});
