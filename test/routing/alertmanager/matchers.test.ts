import { expect, it } from "vitest";
import { writeMatcher } from "#routing/alertmanager/matchers.ts";
import type { Condition } from "#routing/contract.ts";

const label = "severity";

it.each<[Condition, string]>([
  [{ label, operation: "one_of", values: ["critical"] }, 'severity="critical"'],
  [{ label, operation: "one_of", values: ["critical", "page"] }, 'severity=~"critical|page"'],
  [{ label, operation: "none_of", values: ["info"] }, 'severity!="info"'],
  [{ label, operation: "none_of", values: ["info", "debug"] }, 'severity!~"info|debug"'],
  [{ label, operation: "is_set" }, 'severity!=""'],
  [{ label, operation: "is_not_set" }, 'severity=""'],
])("writes %j as %s", (condition, matcher) => {
  expect(writeMatcher(condition)).toBe(matcher);
});

it("takes several values as they stand, not as patterns", () => {
  const condition: Condition = { label, operation: "one_of", values: ["a.b", "c|d"] };

  expect(writeMatcher(condition)).toBe(String.raw`severity=~"a\\.b|c\\|d"`);
});

it("escapes what would end the text", () => {
  const condition: Condition = { label, operation: "one_of", values: ['a"b\\c\nd'] };

  expect(writeMatcher(condition)).toBe(String.raw`severity="a\"b\\c\nd"`);
});

it("refuses a label that Alertmanager cannot have", () => {
  const condition: Condition = { label: "alert.title", operation: "is_set" };

  expect(() => writeMatcher(condition)).toThrow("alert.title is no name of a label");
});
