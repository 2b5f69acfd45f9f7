/** Grades a figure by its aim, and describes both. */

/** The aim of a figure, in the unit in which it is reported. */
export type Aim = ({ atLeast: number } | { atMost: number } | { under: number }) & {
  unit?: string;
};

/** By how much of the aim two runs of the same program may differ: such a miss is reported, and is no failure. */
const tolerance = 0.1;

/** `close`: missed by at most a tenth of the aim. A figure that is no number has missed it. */
export function grade(found: number, aim: Aim): "met" | "close" | "missed" {
  if ("atLeast" in aim) {
    if (found >= aim.atLeast) return "met";
    return found >= aim.atLeast * (1 - tolerance) ? "close" : "missed";
  }
  const limit = "atMost" in aim ? aim.atMost : aim.under;
  if (found < limit || ("atMost" in aim && found === limit)) return "met";
  // Nothing is close to none: one lost event where none may be lost is a failure.
  return limit > 0 && found <= limit * (1 + tolerance) ? "close" : "missed";
}

export function describeVerdict(what: string, found: number | undefined, aim: Aim): string {
  if (found === undefined) return `not measured: ${what} (aim: ${describeLimit(aim)})`;
  const outcome = grade(found, aim);
  const verdict = `${outcome === "met" ? "MET" : "MISSED"}: ${what}: ${toText(found, aim)}`;
  const excuse = outcome === "close" ? ", missed by no more than a tenth" : "";
  return `${verdict} (aim: ${describeLimit(aim)}${excuse})`;
}

export function describeLimit(aim: Aim): string {
  if ("atLeast" in aim) return `at least ${toText(aim.atLeast, aim)}`;
  if ("atMost" in aim) return `at most ${toText(aim.atMost, aim)}`;
  return `under ${toText(aim.under, aim)}`;
}

/** With as many digits as distinguish a figure from its aim, and no more. */
export function toText(value: number, { unit }: { unit?: string }): string {
  const digits = Math.abs(value) >= 100 ? 1 : 3;
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return unit === undefined ? text : `${text} ${unit}`;
}
