/** What holds of every history of runs, whatever comes in and in which order. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { AlertTransition } from "#alerts/contract.ts";
import type { CheckResult, CheckState } from "#monitor/contract.ts";
import { decide, newCheckState, type Run, type VerdictRules } from "#monitor/rules/verdict.ts";
import { aCheckResult } from "../../support/monitor/check-builders.ts";

const places = ["ams", "fra", "iad", "syd"];

const report = fc.record({
  place: fc.constantFrom(...places),
  grade: fc.constantFrom("ok" as const, "degraded" as const, "failed" as const),
});

/** One tick: reports arrive in batches, of which some are repeated; some ticks never close. */
const tick = fc.record({
  batches: fc.array(fc.array(report, { maxLength: 4 }), { maxLength: 4 }),
  closes: fc.boolean(),
  isQuiet: fc.boolean(),
  repeats: fc.boolean(),
});

const history = fc.record({
  ticks: fc.array(tick, { minLength: 1, maxLength: 40 }),
  failedAtPercent: fc.constantFrom(0, 25, 50, 100),
  failedRunThreshold: fc.integer({ min: 1, max: 3 }),
});

type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

type Step = {
  before: CheckState;
  run: Run;
  rules: VerdictRules;
  event: AlertTransition | null;
  after: CheckState;
};

function play({ ticks, failedAtPercent, failedRunThreshold }: History): Step[] {
  const steps: Step[] = [];
  let state = newCheckState(0);
  for (const [i, { batches, closes, isQuiet, repeats }] of ticks.entries()) {
    const scheduledAtMs = (i + 1) * 60_000;
    const rules = { checkId: "c", failedRunThreshold, failedAtPercent, isQuiet, rollout: null };
    const results: CheckResult[] = [];
    const runOf = (isClosed: boolean): Run => ({
      scheduledAtMs,
      expected: places,
      results: [...results],
      isClosed,
      atMs: scheduledAtMs + results.length,
    });
    const take = (run: Run) => {
      const { state: after, transition: event } = decide(state, run, rules);
      steps.push({ before: state, run, rules, event, after });
      state = after;
    };
    for (const batch of batches) {
      for (const { place: location, grade } of batch) {
        results.push(aCheckResult({ location, grade, scheduledAtMs, reason: grade }));
      }
      take(runOf(false));
    }
    if (closes) take(runOf(true));
    if (closes && repeats) take(runOf(true));
  }
  return steps;
}

const eventsOf = (steps: Step[]) => steps.flatMap(({ event }) => (event === null ? [] : [event]));

it("alerts open and resolve in exact alternation, numbered from 1", () => {
  fc.assert(
    fc.property(history, (of) => {
      const ids = eventsOf(play(of)).map(({ eventId }) => eventId);

      expect(ids).toEqual(
        ids.map((_, i) => `c:${Math.floor(i / 2) + 1}:${i % 2 === 0 ? "opened" : "resolved"}`),
      );
    }),
  );
});

it("an alert is open exactly between its two events", () => {
  fc.assert(
    fc.property(history, (of) => {
      let isOpen = false;
      for (const { event, after } of play(of)) {
        if (event !== null) isOpen = event.kind === "opened";
        expect(after.alert !== null).toBe(isOpen);
      }
    }),
  );
});

it("no alert opens while the check is quiet", () => {
  fc.assert(
    fc.property(history, (of) => {
      const opened = play(of).filter(({ event }) => event?.kind === "opened");

      expect(opened.filter(({ rules }) => rules.isQuiet)).toEqual([]);
    }),
  );
});

it("an alert opens only with a failed report in that run, and resolves only with a closed run", () => {
  fc.assert(
    fc.property(history, (of) => {
      for (const { event, run } of play(of)) {
        if (event?.kind === "opened") {
          expect(run.results.some(({ grade }) => grade === "failed")).toBe(true);
        }
        if (event?.kind === "resolved") {
          expect(run.isClosed && run.results.length > 0).toBe(true);
        }
      }
    }),
  );
});

it("with one failing location enough and no quiet, every closed failed run leaves an alert open", () => {
  fc.assert(
    fc.property(history, (of) => {
      const loud = {
        ticks: of.ticks.map((entry) => ({ ...entry, isQuiet: false })),
        failedAtPercent: 0 as const,
        failedRunThreshold: 1,
      };
      for (const { run, after } of play(loud)) {
        if (firstOf(run).some(({ grade }) => grade === "failed")) {
          expect(after.alert).not.toBeNull();
        }
      }
    }),
  );
});

it("no run without a report is ok, and none with a failure that counts", () => {
  fc.assert(
    fc.property(history, (of) => {
      for (const { run, after } of play(of)) {
        const isDecided = after.decidedRunMs === run.scheduledAtMs;
        if (isDecided && run.results.length === 0) expect(after.status).not.toBe("ok");
        if (isDecided && firstOf(run).some(({ grade }) => grade === "failed")) {
          expect(after.status).not.toBe("ok");
        }
      }
    }),
  );
});

it("a run that is decided once more changes nothing", () => {
  fc.assert(
    fc.property(history, (of) => {
      for (const { run, rules, after } of play(of)) {
        if (!run.isClosed) continue;
        expect(decide(after, run, rules)).toEqual({ state: after, transition: null });
      }
    }),
  );
});

function firstOf(run: Run): CheckResult[] {
  return places.flatMap((place) => {
    const first = run.results.find(({ location }) => location === place);
    return first === undefined ? [] : [first];
  });
}
