/** Conditions of routes as Alertmanager's matchers, to which a missing label is an empty one. */
import type { AlertRoute, Condition } from "#routing/contract.ts";

export function writeMatcher(condition: Condition): string {
  const label = writeLabel(condition.label);
  switch (condition.operation) {
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

/** Quotes a label only if need be: an Alertmanager before 0.27 takes no quotes around a name. */
export function writeLabel(label: string): string {
  return isPlain(label) ? label : quoteLabel(label);
}

/** True if every Alertmanager takes the name without quotes. */
export function isPlain(label: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(label);
}

/** The first label in a condition on alerts of these sources that has to be in quotes. */
export function findQuoted(route: AlertRoute, of: readonly string[]): string | undefined {
  const taken = route.sources.filter(({ source }) => of.includes(source));
  const inhibitions = taken.length > 0 ? (route.inhibitedBy ?? []) : [];
  const conditions = [...taken, ...inhibitions].flatMap((one) => one.conditions);
  return conditions.find(({ label }) => !isPlain(label))?.label;
}

/** True for a version, such as 0.28.1, that reads names in quotes. */
export function takesQuotes(version: string): boolean {
  return version.localeCompare("0.27", "en", { numeric: true }) >= 0;
}

/** Quotes text as Alertmanager reads it: the quote and the backslash are escaped, and a line end is `\n`. */
export function quoteLabel(value: string): string {
  const escaped = value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
  return `"${escaped}"`;
}

type Ops = { one: string; several: string };

function writeValues({ label: name, values }: ValuesCondition, { one, several }: Ops): string {
  const [only = ""] = values;
  const label = writeLabel(name);
  if (values.length === 1) return `${label}${one}${quoteLabel(only)}`;
  // Alertmanager matches the pattern against the whole value.
  return `${label}${several}${quoteLabel(values.map(escapePattern).join("|"))}`;
}

type ValuesCondition = Extract<Condition, { values: string[] }>;

function escapePattern(value: string): string {
  return value.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
