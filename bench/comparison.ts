/**
 * Simulated rollouts of the same image, of which a comparison may stop 1 %, and of worse, better and slower ones, which
 * it has to find. COMPARISON_FLEETS: rollouts of each kind in a fleet of 20; COMPARISON_LARGE: in one of 200, of which
 * each takes a second of a processor; COMPARISON_FOUND: of each fault.
 */
import { evaluate } from "../src/rollout/comparison/evaluate.ts";
import { type Plan, type Scenario, simulate } from "./comparison-fleets.ts";
import { type Answer, runAll, stopRuns } from "./comparison-runs.ts";
import { countFrom, median } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const fleets = countFrom("COMPARISON_FLEETS", 2_000);
const largeFleets = countFrom("COMPARISON_LARGE", 500);
const faults = countFrom("COMPARISON_FOUND", 100);
const soakMinutes = 30;
const minuteMs = 60_000;

const plans: Record<string, { plan: Plan; count: number }> = {
  "20 sentinels": { plan: { sentinels: 20, waves: [1, 5, 10], soakMinutes }, count: fleets },
  "200 sentinels": {
    plan: { sentinels: 200, waves: [2, 10, 50, 100], soakMinutes },
    count: largeFleets,
  },
};

/** The new image is the same, or tolerably worse. */
const harmless: Record<string, Scenario> = {
  calm: {},
  "weekly pattern, heavy tails": { weekly: true },
  "regional outage of both sides": { weekly: true, outages: 2 },
  "one region first": { weekly: true, regionFirst: true },
  "new processes slow for 2 minutes": { weekly: true, slowStart: 2 },
  "very little traffic": { weekly: true, requests: 3 },
  "10 % more of everything": { weekly: true, times: { errors: 1.1, slow: 1.1, restarts: 1.1 } },
};

const searched: Record<string, { scenario: Scenario; answer: Answer }> = {
  "errors 0.1 to 0.2 %": { scenario: { times: { errors: 2 } }, answer: "worse" },
  "errors 0.1 to 1 %": { scenario: { times: { errors: 10 } }, answer: "worse" },
  "latency +20 %": { scenario: { times: { slow: 1.57 } }, answer: "worse" },
  "a restart each 10 minutes": { scenario: { restarts: 0.1 }, answer: "worse" },
  "the fix, errors 5 to 0.1 %": {
    scenario: { oldErrors: 0.05, times: { errors: 0.02 } },
    answer: "better",
  },
  "the same image may continue early": { scenario: {}, answer: "early" },
};

const drawn = [1, 2, 5, 20, 100];

/** The shares that have to be found in calm fleets, in %: 10 points below those of the method's own simulations. */
const leastFound: Record<string, Record<number, number>> = {
  "errors 0.1 to 0.2 %": { 20: 89, 100: 90 },
  "errors 0.1 to 1 %": { 2: 90, 5: 90, 20: 90 },
  "latency +20 %": { 5: 64, 20: 90 },
  "a restart each 10 minutes": { 5: 84, 20: 90 },
  "the fix, errors 5 to 0.1 %": { 1: 90, 20: 90 },
  "the same image may continue early": { 5: 89, 20: 90 },
};

/** The 95 % interval of a share, in %. */
function wilson(found: number, of: number): [number, number] {
  const z = 1.96;
  const share = found / of;
  const centre = share + (z * z) / (2 * of);
  const half = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of));
  const bound = (value: number) => (100 * Math.max(0, value)) / (1 + (z * z) / of);
  return [bound(centre - half), bound(centre + half)];
}

function describeShare(found: number, of: number): string {
  const [low, high] = wilson(found, of).map((bound) => bound.toFixed(2));
  return `${found} of ${of} (${low}–${high} %)`;
}

async function measureStops(): Promise<void> {
  const rows: Record<string, Record<string, string>> = {};
  for (const [size, { plan, count }] of Object.entries(plans)) {
    for (const [kind, scenario] of Object.entries(harmless)) {
      const outcomes = await runAll({ kind: "stops", scenario, plan }, count);
      const stopped = outcomes.filter(({ isStopped }) => isStopped).length;
      const byGuard = outcomes.filter(({ isByGuard }) => isByGuard).length;
      const guard = byGuard > 0 ? `, ${byGuard} by the guard alone` : "";
      rows[kind] = { ...rows[kind], [size]: `${describeShare(stopped, count)}${guard}` };
      const share = (100 * stopped) / count;
      reportFigure(`false stops, ${size}: ${kind}`, share, { atMost: 1, unit: "%" });
    }
  }
  reportTable("Rollouts of a harmless image that are stopped (95 % Wilson)", rows);
}

async function measureFound(): Promise<void> {
  const rows: Record<string, Record<string, string>> = {};
  for (const [name, { scenario, answer }] of Object.entries(searched)) {
    for (const load of ["calm", "weekly"]) {
      const kind = { ...scenario, weekly: load === "weekly" };
      const found: [number, number[]][] = [];
      for (const n of drawn) found.push([n, await findMinutes(kind, answer, n)]);
      rows[`${name}, ${load}`] = Object.fromEntries(
        found.map(([n, minutes]) => [`${n} new`, describeFound(minutes)]),
      );
      if (load === "calm") reportFound(name, found);
    }
  }
  reportTable("Found within 30 minutes in a fleet of 200: share, median minute", rows);
}

/** The minutes of those rollouts with so many new sentinels in which the answer is given. */
async function findMinutes(scenario: Scenario, answer: Answer, n: number): Promise<number[]> {
  const plan = { sentinels: 200, waves: [n], soakMinutes };
  const outcomes = await runAll({ kind: "minute", scenario, plan, answer }, faults);
  return outcomes.flatMap(({ minute }) => minute ?? []);
}

const describeFound = (minutes: readonly number[]) =>
  minutes.length > 0 ? `${Math.round((100 * minutes.length) / faults)} %, ${median(minutes)}` : "0";

function reportFound(name: string, found: readonly (readonly [number, readonly number[]])[]): void {
  for (const [n, minutes] of found) {
    const least = leastFound[name]?.[n];
    if (least === undefined) continue;
    const share = (100 * minutes.length) / faults;
    reportFigure(`found by ${n}: ${name}`, share, { atLeast: least, unit: "%" });
  }
}

/** Median of five looks at 10,000 sentinels, 500 of them new. */
function measureLook(): void {
  const plan = { sentinels: 10_000, waves: [500], soakMinutes: 12 };
  const { history, now } = simulate({}, plan, 1);
  const { ledger } = evaluate(history, now - 2 * minuteMs);
  const times = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    evaluate({ ...history, ledger }, now - minuteMs);
    return performance.now() - startedAt;
  });
  reportFigure("a look at 10,000 sentinels", median(times), { atMost: 5_000, unit: "ms" });
}

startBench("comparison");
reportFigure("rollouts of each kind, 20 sentinels", fleets);
reportFigure("rollouts of each kind, 200 sentinels", largeFleets);
reportFigure("rollouts of each fault", faults);
measureLook();
await measureStops();
await measureFound();
await stopRuns();
finishBench();
