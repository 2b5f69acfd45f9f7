/** Conditions of routes as Alertmanager's matchers, to which a missing label is an empty one. */
import type { Condition } from "#routing/contract.ts";

/** Throws for a label that no alert of Alertmanager can have. */
export function writeMatcher(condition: Condition): string {
  const { label, operation } = condition;
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(label)) {
    throw new Error(`${label} is no name of a label for an alert manager`);
  }
  switch (operation) {
    case "one_of":
      return writeValues(condition, { one: "=", several: "=~" });
    case "none_of":
      return writeValues(condition, { one: "!=", several: "!~" });
    case "is_set":
      return `${label}!=""`;
    case "is_not_set":
      return `${label}=""`;
  }
}

/** As Alertmanager reads text: the quote and the backslash are escaped, and a line end is `\n`. */
export function quoteLabel(value: string): string {
  const escaped = value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
  return `"${escaped}"`;
}

type Signs = { one: string; several: string };

function writeValues({ label, values }: ValuesCondition, { one, several }: Signs): string {
  const [only = ""] = values;
  if (values.length === 1) return `${label}${one}${quoteLabel(only)}`;
  // Alertmanager matches the pattern against the whole value.
  return `${label}${several}${quoteLabel(values.map(escapePattern).join("|"))}`;
}

type ValuesCondition = Extract<Condition, { values: string[] }>;

function escapePattern(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
