/** Ranks the changes before an alert by the probability that each is its one cause. Pure. README.md has the formula. */
import { cleanText, someOf } from "#kernel/text.ts";
import { formatSpan } from "#kernel/time.ts";
import type {
  BlamedAlert,
  Change,
  ChangeKind,
  Dimension,
  Place,
  Reach,
  Suspect,
} from "./contract.ts";

const mostSuspects = 3;
const mostText = 600;

/** A change that explains an alert less than this is not named; nothing is if chance explains it better than all. */
const leastScore = 0.05;
const mostChance = 0.5;

/** `share`: of the changes of a kind, how many break something that they reach. `actsMs`: how fast, in the mean. */
const habits: Record<ChangeKind, { share: number; actsMs: number }> = {
  rollout: { share: 0.05, actsMs: 120_000 },
  rollback: { share: 0.01, actsMs: 120_000 },
  // The next run follows them.
  definitions: { share: 0.05, actsMs: 1_000 },
  routes: { share: 0.02, actsMs: 30_000 },
  // Every process has them within a second; a lower limit is reached later.
  keys: { share: 0.02, actsMs: 10_000 },
  settings: { share: 0.05, actsMs: 30_000 },
  restart: { share: 0.02, actsMs: 30_000 },
};

/** Of ten changes that break something one does so slowly, such as a leak, in the mean within this time. */
const slowShare = 0.1;
const slowMs = 2 * 3_600_000;

/** The mean time between faults of one check that no known change has caused. */
const quietMs = 2 * 24 * 3_600_000;

/** A change that touched nothing of the alert's place can still be the cause, by ways that nobody has declared. */
const strayRatio: Record<Dimension, number> = {
  region: 0.002,
  part: 0.002,
  key: 0.0005,
  check: 0.0002,
  delivery: 0.0001,
};
const mostRatio = 50;

/** The best first; empty: nothing that changed fits. */
export function rank(alert: BlamedAlert, changes: readonly Change[]): Suspect[] {
  const regions = namedRegions(alert.place, changes);
  const weighed = changes
    .filter(({ atMs }) => atMs <= alert.failedAtMs)
    .map((change) => {
      const place = placeOf(change.reach, alert.place, regions);
      const weight = habits[change.kind].share * timeOf(change, alert) * place.ratio;
      return { change, place, weight };
    });
  const chance = Math.max(within(alert.failedAtMs - alert.goodAtMs, quietMs), 1e-9);
  const all = chance + sum(weighed.map(({ weight }) => weight));
  if (chance / all >= mostChance) return [];
  return weighed
    .map(({ change, place, weight }) => ({
      id: change.id,
      kind: change.kind,
      atMs: change.atMs,
      who: change.who,
      score: Math.round((100 * weight) / all) / 100,
      text: cleanText(`${change.summary} ${whenOf(change, alert)}; ${place.words}`, mostText),
    }))
    .filter(({ score }) => score >= leastScore)
    .toSorted((a, b) => b.score - a.score || b.atMs - a.atMs)
    .slice(0, mostSuspects);
}

/** The probability that a change that breaks something does so between the last good run and the first bad one. */
function timeOf(
  { kind, atMs, untilMs = atMs }: Change,
  { goodAtMs, failedAtMs }: BlamedAlert,
): number {
  // One that lasts acts anew until it ends.
  const fromMs = Math.max(atMs, Math.min(goodAtMs, untilMs));
  const brokenBy = (ms: number) =>
    (1 - slowShare) * within(ms, habits[kind].actsMs) + slowShare * within(ms, slowMs);
  return brokenBy(failedAtMs - fromMs) - brokenBy(goodAtMs - fromMs);
}

function within(ms: number, meanMs: number): number {
  return ms <= 0 ? 0 : 1 - Math.exp(-ms / meanMs);
}

function whenOf({ atMs, untilMs = atMs }: Change, { failedAtMs }: BlamedAlert): string {
  if (untilMs >= failedAtMs && untilMs > atMs) {
    return `from ${formatSpan(atMs, failedAtMs)} before the first failure, and had not ended`;
  }
  return `${formatSpan(untilMs, failedAtMs)} before the first failure`;
}

/** `ratio`: how much likelier the alert's place is if this change is the cause than by chance. */
type PlaceFit = { ratio: number; words: string };

function placeOf(reach: Reach, place: Place, regions: ReadonlySet<string> | undefined): PlaceFit {
  const { of, touched, sizes = {}, total } = reach;
  const overall = Math.min(1, sum(Object.values(touched)) / total);
  const known = of === "region" ? regions : place[of] && new Set(place[of]);
  if (known === undefined) {
    return {
      ratio: 1,
      words: `it reached ${percent(overall)} of all; where the failure is, is not known`,
    };
  }
  const units = [...known];
  const hit = units.filter((unit) => countOf(touched, unit, 0) > 0);
  if (hit.length === 0 || overall === 0) {
    return {
      ratio: strayRatio[of],
      words: "it reached nothing that is known to be part of this alert",
    };
  }
  const there =
    sum(units.map((unit) => countOf(touched, unit, 0))) /
    sum(units.map((unit) => countOf(sizes, unit, 1)));
  const ratio = Math.min(mostRatio, Math.max(strayRatio[of], there / overall));
  return { ratio, words: wordsOf(of, { hit, there, overall }) };
}

/** A check may be called `constructor`. */
function countOf(counts: Reach["touched"], unit: string, otherwise: number): number {
  return (Object.hasOwn(counts, unit) ? counts[unit] : undefined) ?? otherwise;
}

type Hit = { hit: readonly string[]; there: number; overall: number };

function wordsOf(of: Reach["of"], { hit, there, overall }: Hit): string {
  switch (of) {
    case "region":
      return `it reached ${percent(there)} of ${someOf(hit.map(regionOf), 3)}, which the alert is about, and ${percent(overall)} of all sentinels`;
    case "check":
      return "it changed this check";
    case "key":
      return "it reached the keys that this check depends on";
    case "part":
      return `this check depends on ${someOf(hit, 3)}`;
    case "delivery":
      return "this alert is about the delivery of alerts";
  }
}

function percent(share: number): string {
  return `${Math.max(1, Math.round(100 * share))} %`;
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

/** A region as reach has it: those of two fleets with one name are two. */
export function toRegion(fleet: string, region: string): string {
  return `${fleet}/${region}`;
}

function regionOf(unit: string): string {
  return unit.slice(unit.indexOf("/") + 1);
}

/** The regions that the alert names as whole words; a longer name hides the shorter one in it. undefined: none. */
function namedRegions(place: Place, changes: readonly Change[]): Set<string> | undefined {
  const known = changes.flatMap(({ reach }) =>
    reach.of === "region" ? Object.keys(reach.sizes ?? {}) : [],
  );
  const units = [...new Set(known)].filter(
    (unit) => place.fleet === undefined || unit.startsWith(`${place.fleet}/`),
  );
  let text = ` ${place.names.join(" ").toLowerCase()} `;
  const named = new Set<string>();
  const regions = [...new Set(units.map(regionOf))].filter((region) => region !== "");
  for (const region of regions.toSorted((a, b) => b.length - a.length)) {
    const pieces = text.split(region.toLowerCase());
    const isWhole = (piece: string, i: number) =>
      i > 0 && /[^a-z0-9]$/.test(pieces[i - 1] ?? "") && /^[^a-z0-9]/.test(piece);
    if (!pieces.some(isWhole)) continue;
    text = pieces.join(" ");
    for (const unit of units) if (regionOf(unit) === region) named.add(unit);
  }
  if (named.size > 0) return named;
  return place.fleet === undefined ? undefined : new Set(units);
}
