/** The verdict that the evidence allows, and its reason. Pure. */
import type { Ledger, MetricEvidence, Verdict } from "./contract.ts";
import { alpha, beta, metrics } from "./defaults.ts";

/** The window since the soak's start, and who reported in it. */
type Look = {
  minutes: number;
  mode: "exact" | "history";
  drawn: number;
  old: number;
  /** How many new sentinels a doubled error rate is found with; null: more than the fleet has. */
  needed: number | null;
  oneSided: readonly { region: string; isNew: boolean }[];
};

/** `missing`: why there is no look at the current wave. */
export type Findings = {
  ledger: Ledger;
  metrics: MetricEvidence[];
  look?: Look;
  missing?: string;
};

const threshold = 1 / alpha;
const proof = 1 / beta;

export function decide(findings: Findings): Verdict {
  const { ledger, look } = findings;
  const { total, guard } = ledger;
  const verdict = choose(ledger);
  const isWithin = metrics.every(
    (_, m) => isProven(ledger, "notWorse", m) || isProven(ledger, "better", m),
  );
  return {
    verdict,
    may_go_early: verdict !== "worse" && isWithin,
    reason: describe(verdict, findings),
    ledger,
    evidence: {
      threshold,
      total,
      ...(guard === null ? {} : { guard: true }),
      ...(look && { mode: look.mode, new_sentinels: look.drawn, old_sentinels: look.old }),
      metrics: findings.metrics,
    },
  };
}

function choose(ledger: Ledger): Verdict["verdict"] {
  if (ledger.total >= threshold || ledger.guard !== null) return "worse";
  const isBetter = metrics.some(
    ({ name }, m) => name !== "restarts" && isProven(ledger, "better", m),
  );
  if (isBetter) return "better";
  return metrics.every((_, m) => isProven(ledger, "notWorse", m)) ? "not_worse" : "inconclusive";
}

function isProven({ sums }: Ledger, claim: "notWorse" | "better", m: number): boolean {
  return (sums?.[claim][m] ?? 0) >= proof;
}

function describe(verdict: Verdict["verdict"], findings: Findings): string {
  const { ledger } = findings;
  switch (verdict) {
    case "worse":
      return describeWorse(findings);
    case "better": {
      const proven = findings.metrics.filter(
        (one, m) => one.metric !== "restarts" && isProven(ledger, "better", m),
      );
      return `fewer ${listLabels(proven)} with the new image: ${proven.map(compare).join("; ")}`;
    }
    case "not_worse":
      return "errors, slow requests and restarts of the new image are proven to be within the margin";
    case "inconclusive":
      return describeInconclusive(findings);
  }
}

function describeWorse({ ledger, metrics: found }: Findings): string {
  const [most] = found.toSorted((a, b) => b.worse - a.worse);
  const numbers = most !== undefined && most.worse > 0 ? `: ${labelOf(most)} ${compare(most)}` : "";
  if (ledger.total >= threshold) {
    const evidence = `evidence ${toText(ledger.total)} of ${toText(threshold)}`;
    return `the new image is worse than the old one at the same time${numbers} (${evidence})`;
  }
  const errors = found.find(({ metric }) => metric === "errors");
  const now = errors === undefined ? "" : `; since the soak's start ${compare(errors)}`;
  return `the new sentinels failed grossly at ${new Date(ledger.guard ?? 0).toISOString()}, the old ones did not${now}`;
}

function describeInconclusive({ ledger, metrics: found, look, missing = "" }: Findings): string {
  if (look === undefined) return missing;
  const { minutes, drawn, old } = look;
  const span = `in ${count(minutes, "minute")} of the soak`;
  if (drawn === 0) return `no sentinel of the new image reported ${span}`;
  if (old === 0) return `no sentinel of the old image reported ${span}`;
  const [requests] = found;
  if (requests?.new.exposure === 0) return `the new sentinels had no request ${span}`;
  if (requests?.old.exposure === 0) return `the old sentinels had no request ${span}`;
  const open = found.filter((_, m) => !isProven(ledger, "notWorse", m));
  const parts = [
    `${span} ${listLabels(open)} of the new image are proven neither worse nor within the margin`,
    describeSize(look),
    describeRegions(look),
  ];
  return parts.filter(Boolean).join("; ");
}

function describeSize({ drawn, needed }: Look): string {
  const only =
    drawn === 1
      ? "1 new sentinel can only be judged for gross failure"
      : `${drawn} new sentinels find great differences only`;
  if (needed === null)
    return `${only}; the fleet has too few requests, or sentinels, for a doubled error rate`;
  return drawn < needed ? `${only}; about ${needed} would be needed for a doubled error rate` : "";
}

/** In history mode regions that are old say something: their past does. */
function describeRegions({ oneSided, mode }: Look): string {
  const silent = oneSided.filter(({ isNew }) => isNew || mode === "exact");
  if (silent.length === 0) return "";
  const names = silent
    .slice(0, 10)
    .map(({ region, isNew }) => `${region} (${isNew ? "new" : "old"})`);
  const more = silent.length > names.length ? ` and ${silent.length - names.length} more` : "";
  return `regions with one image only say nothing: ${names.join(", ")}${more}`;
}

function compare({ metric, new: drawn, old, expected }: MetricEvidence): string {
  const rates =
    metric === "restarts"
      ? `${toText(drawn.rate * 60)} an hour beside ${toText(old.rate * 60)}`
      : `${toText(drawn.rate * 100)} % beside ${toText(old.rate * 100)} %`;
  return `${rates} (${toText(drawn.count)}, expected ${toText(expected)})`;
}

function labelOf({ metric }: MetricEvidence): string {
  return metrics.find(({ name }) => name === metric)?.label ?? metric;
}

const listLabels = (found: readonly MetricEvidence[]) =>
  found
    .map(labelOf)
    .join(", ")
    .replace(/, ([^,]*)$/, " and $1");

const count = (n: number, noun: string) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** Three digits. */
const toText = (value: number) => String(Number(value.toPrecision(3)));
