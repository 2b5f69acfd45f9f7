/** An API check from decision to decision: what is written of it, and when it is decided next. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiCheck, CheckResult } from "#monitor/contract.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import { evaluateCheck } from "#monitor/state/evaluate-check.ts";
import { type ApiRow, newApiRow, newEffects } from "#monitor/state/row.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";

const minute = 60_000;
const check = anApiCheck({ id: "probe" });
const first = nextTick(gridOf(check), minute);
/** For a run and its report. */
const limitMs = 17_000;

type Given = Partial<Omit<Parameters<typeof evaluateCheck>[2], "check">> & {
  dependency?: DependencyState | undefined;
};

/** Decides the same row again and again; each decision is written as the store would, in JSON. */
function watch(of: ApiCheck = check) {
  let row = newApiRow(0);
  let definition: ApiCheck | undefined = of;
  return {
    row: () => row,
    state: () => row.state,
    change: (changes: Partial<ApiRow>) => {
      row = { ...row, ...changes };
    },
    define: (now: ApiCheck | undefined) => {
      definition = now;
    },
    at: (nowMs: number, { dependency, ...given }: Given = {}) => {
      const effects = newEffects();
      const input = {
        check: definition,
        isOff: false,
        location: "local",
        runsHere: true,
        failedAtPercent: 0,
        further: [],
        reports: [],
        ...given,
      };
      const dependencyOf = () => dependency ?? null;
      const moment = { nowMs, rollout: null, dependencyOf, effects };
      const { row: decided, wakeAtMs } = evaluateCheck("probe", row, input, moment);
      const stored = JSON.parse(JSON.stringify(decided));
      expect(stored).toStrictEqual(decided);
      row = stored;
      return {
        wakeAtMs,
        effects,
        events: effects.transitions.map(({ kind, episode }) => `${kind} ${episode}`),
        runs: effects.probes.map(({ scheduledAtMs }) => scheduledAtMs),
        missed: effects.missed.map(({ fromMs, toMs, ticks }) => [fromMs, toMs, ticks]),
      };
    },
  };
}

/** Its first run has begun. */
function watchRun(given: Given = {}, of: ApiCheck = check) {
  const watched = watch(of);
  watched.at(first - 1, given);
  watched.at(first, given);
  return watched;
}

function reportOf(scheduledAtMs: number, ...results: Partial<CheckResult>[]) {
  const made = results.map((result) =>
    aCheckResult({ checkId: "probe", scheduledAtMs, reason: "refused", ...result }),
  );
  return { scheduledAtMs, results: made };
}
const ok = (scheduledAtMs: number, location = "local") => reportOf(scheduledAtMs, { location });
const failed = (scheduledAtMs: number, location = "local") =>
  reportOf(scheduledAtMs, { location, grade: "failed" });

describe("the timer of a check", () => {
  it("is set for the next tick when the check is first decided, and runs nothing before", () => {
    const watched = watch();

    const { wakeAtMs, effects } = watched.at(first - 1);

    expect(wakeAtMs).toBe(first);
    expect(effects).toEqual(newEffects());
  });

  it("is one, however often the check is decided", () => {
    const watched = watch();
    const times = [-9_000, -1, 0, 0, 1, 16_999, minute, minute].map((ms) => first + ms);

    const all = times.map((atMs) => watched.at(atMs));

    expect(all.flatMap(({ runs }) => runs)).toEqual([first, first + minute]);
    expect(watched.row().timer?.dueMs).toBe(first + 2 * minute);
  });

  it("skips missed ticks, records them, and runs the last one", () => {
    const watched = watchRun();
    watched.at(first + 200, { reports: [ok(first)] });

    const { runs, missed } = watched.at(first + 4 * minute + 20_000);

    expect(runs).toEqual([first + 4 * minute]);
    expect(missed).toEqual([[first + minute, first + 3 * minute, 3]]);
    expect(watched.row().timer?.dueMs).toBe(first + 5 * minute);
  });

  it("does not run the last tick either when half of its period is over", () => {
    const watched = watchRun();
    watched.at(first + 200, { reports: [ok(first)] });

    const { runs, missed } = watched.at(first + 4 * minute + 40_000);

    expect(runs).toEqual([]);
    expect(missed).toEqual([[first + minute, first + 4 * minute, 4]]);
  });

  it("is set anew when the frequency changes", () => {
    const watched = watchRun();
    const often = { ...check, frequencySeconds: 10 };
    watched.define(often);

    const { wakeAtMs, runs, missed } = watched.at(first + 1);

    expect(wakeAtMs).toBe(nextTick(gridOf(often), first + 1));
    expect([runs, missed]).toEqual([[], []]);
  });

  it("that was set while the clock was ahead by an hour is set anew", () => {
    const watched = watch();
    watched.at(first + 60 * minute);

    const { wakeAtMs } = watched.at(first + 1_000);
    const { runs } = watched.at(first + minute);

    expect(wakeAtMs).toBe(first + minute);
    expect(runs).toEqual([first + minute]);
  });

  it("runs no tick twice when the clock is set back by less than a period", () => {
    const watched = watchRun();
    watched.at(first + 200, { reports: [ok(first)] });

    const again = [first - 5_000, first, first + 1].map((atMs) => watched.at(atMs));

    expect(again.flatMap(({ runs }) => runs)).toEqual([]);
    expect(again.at(-1)?.wakeAtMs).toBe(first + minute);
  });

  it("is not used up by a process that makes no runs", () => {
    const watched = watch();
    watched.at(first - 1);

    const elsewhere = watched.at(first + 10, { runsHere: false });
    const here = watched.at(first + 20);

    expect(elsewhere.runs).toEqual([]);
    expect(here.runs).toEqual([first]);
  });
});

describe("a run", () => {
  it("alerts when it fails, and the next that does not fail resolves the alert", () => {
    const watched = watchRun();

    const opened = watched.at(first + 100, { reports: [failed(first)] });
    watched.at(first + minute);
    const degraded = reportOf(first + minute, { grade: "degraded" });
    const resolved = watched.at(first + minute + 100, { reports: [degraded] });

    expect(opened.events).toEqual(["opened 1"]);
    expect(opened.effects.results).toHaveLength(1);
    expect(opened.effects.orders).toMatchObject([
      { queue: "probe", order: { transition: { atMs: first + 100, reason: "local: refused" } } },
    ]);
    expect(resolved.events).toEqual(["resolved 1"]);
    expect(watched.state()).toMatchObject({ status: "degraded", episodes: 1, alert: null });
  });

  it("that is reported twice is decided once", () => {
    const watched = watchRun();
    watched.at(first + 100, { reports: [failed(first)] });

    const again = watched.at(first + 200, { reports: [failed(first)] });

    expect(again.events).toEqual([]);
    expect(watched.state().failedRuns).toBe(1);
  });

  it("that has ended opens no alert by a late report, which is recorded", () => {
    const watched = watchRun();
    watched.at(first + minute);

    const late = watched.at(first + minute + 100, { reports: [failed(first)] });

    expect(late.events).toEqual([]);
    expect(late.effects.results).toMatchObject([{ scheduledAtMs: first, grade: "failed" }]);
    expect(watched.state().status).toBe("silent");
    expect(watched.row().early).toEqual([]);
  });

  it("whose probe was killed is made once more when its time is over", () => {
    const watched = watchRun();
    const { wakeAtMs } = watched.at(first + 1);

    const again = [limitMs - 1, limitMs, limitMs + 1].map((ms) => watched.at(first + ms));
    const { events } = watched.at(first + limitMs + 100, { reports: [failed(first)] });

    expect(wakeAtMs).toBe(first + limitMs);
    expect(again.map(({ runs }) => runs)).toEqual([[], [first], []]);
    expect(events).toEqual(["opened 1"]);
  });

  it("that was reported is not made again", () => {
    const watched = watchRun();
    watched.at(first + 100, { reports: [ok(first)] });

    expect(watched.at(first + limitMs).runs).toEqual([]);
  });

  it.each([
    ["its period is short", { ...check, frequencySeconds: 20 }, 0],
    ["it started late", check, 29_000],
  ])(
    "whose probe was killed is not made again where %s: it would overlap the next",
    (_, of, ms) => {
      const tick = nextTick(gridOf(of), first);
      const watched = watch(of);
      watched.at(tick - 1);

      const { runs } = watched.at(tick + ms);
      const { wakeAtMs } = watched.at(tick + ms + 1);

      expect(runs).toEqual([tick]);
      expect(wakeAtMs).toBe(nextTick(gridOf(of), tick));
    },
  );

  it("whose probe was killed twice is recorded as missed by the next tick", () => {
    const watched = watchRun();
    watched.at(first + limitMs);

    const { missed, runs } = watched.at(first + minute);

    expect(missed).toEqual([[first, first, 1]]);
    expect(runs).toEqual([first + minute]);
  });

  it("takes the report that comes with the tick that ends it", () => {
    const watched = watchRun();

    const { events, missed, runs } = watched.at(first + minute, { reports: [failed(first)] });

    expect(events).toEqual(["opened 1"]);
    expect([missed, runs]).toEqual([[], [first + minute]]);
  });

  it("opens no alert while the check is muted, and the first one after that does", () => {
    const watched = watchRun();
    watched.change({ quiet: { mutedUntilMs: first + minute, maintenance: [] } });

    const muted = watched.at(first + 100, { reports: [failed(first)] });
    watched.at(first + minute);
    const after = watched.at(first + minute + 100, { reports: [failed(first + minute)] });

    expect(muted.events).toEqual([]);
    expect(after.events).toEqual(["opened 1"]);
  });

  it("is decided again, once the rollout in progress is read", () => {
    const rollout = { rolloutId: "ro_1", fleet: "singleton", image: "a", wave: 2 };
    const { row } = watchRun();
    const input = { check, isOff: false, location: "local", runsHere: true };
    const settings = { ...input, failedAtPercent: 0, further: [], reports: [failed(first)] };
    const decide = (known: typeof rollout | undefined) => {
      const effects = newEffects();
      const moment = { nowMs: first + 100, rollout: known, dependencyOf: () => null, effects };
      evaluateCheck("probe", row(), settings, moment);
      return effects.transitions;
    };

    expect(decide(undefined)).toMatchObject([{ kind: "opened", rollout: null }]);
    expect(decide(rollout)).toMatchObject([{ kind: "opened", rollout }]);
  });
});

describe("a run of several locations", () => {
  const further = { further: ["fra"] };

  it("waits for those that are expected, and is closed without the others when its time is over", () => {
    const watched = watch();
    watched.at(first - 1, further);
    const { wakeAtMs } = watched.at(first, further);
    watched.at(first + 100, { ...further, reports: [ok(first)] });
    const closesAtMs = wakeAtMs ?? 0;

    const before = watched.at(closesAtMs - 1, further);
    const isOpen = watched.row().run !== null;
    const after = watched.at(closesAtMs, further);

    expect(closesAtMs).toBe(first + limitMs);
    expect([before.events, isOpen]).toEqual([[], true]);
    expect(after.wakeAtMs).toBe(first + minute);
    expect(watched.row().run).toBeNull();
    expect(watched.state()).toMatchObject({ status: "ok", decidedRunMs: first });
  });

  it("that starts late still has its whole time", () => {
    const hourly = { ...check, frequencySeconds: 3_600 };
    const tick = nextTick(gridOf(hourly), first);
    const watched = watch(hourly);
    watched.at(tick - 1, further);

    watched.at(tick + 20 * minute, further);
    const reports = [failed(tick)];
    const { events } = watched.at(tick + 20 * minute + 200, { ...further, reports });

    expect(events).toEqual(["opened 1"]);
  });

  it("is over once all have reported", () => {
    const watched = watchRun(further);

    watched.at(first + 100, { ...further, reports: [ok(first, "fra")] });
    const { wakeAtMs } = watched.at(first + 200, { ...further, reports: [ok(first)] });

    expect(watched.state().status).toBe("ok");
    expect(wakeAtMs).toBe(first + minute);
  });

  it("counts reports that came before it began, each location once", () => {
    const watched = watch();
    watched.at(first - 500, further);

    const early = watched.at(first - 400, { ...further, reports: [failed(first, "fra")] });
    watched.at(first - 300, { ...further, reports: [ok(first, "fra")] });
    const started = watched.at(first, further);

    expect(early.events).toEqual([]);
    expect(early.effects.results).toHaveLength(1);
    expect(started.events).toEqual(["opened 1"]);
    expect(watched.row().early).toEqual([]);
  });

  it("stores no early report of a time that is no tick", () => {
    const watched = watch();
    watched.at(first - 500);

    watched.at(first - 400, { reports: [failed(first + 1, "fra")] });

    expect(watched.row().early).toEqual([]);
  });

  it("stores early reports of two hundred locations at most", () => {
    const watched = watch();
    watched.at(first - 500);
    const many = Array.from({ length: 300 }, (_, n) => ({ location: `at-${n}` }));

    watched.at(first - 400, { reports: [reportOf(first, ...many)] });

    expect(watched.row().early).toHaveLength(200);
  });

  it("of a check that does not run here starts no run here", () => {
    const watched = watch({ ...check, locations: ["fra"] });
    watched.at(first - 1, further);

    const { runs } = watched.at(first, further);
    const { missed } = watched.at(first + minute, further);

    expect(runs).toEqual([]);
    expect(missed).toEqual([]);
  });
});

describe("a check that does not run", () => {
  it.each([
    ["lacks settings", (_: ReturnType<typeof watch>) => ({ isOff: true }), minute],
    [
      "is removed",
      (watched: ReturnType<typeof watch>) => {
        watched.define(undefined);
        return {};
      },
      null,
    ],
  ])("because it %s is paused, without timer, run and early reports", (_, stop, againMs) => {
    const watched = watchRun({ further: ["fra"] });
    watched.at(first + 100, { reports: [failed(first + minute, "fra")] });
    const given = stop(watched);

    const stopped = watched.at(first + 200, given);
    const again = watched.at(first + 300, { ...given, reports: [failed(first)] });

    // Settings come without a call.
    const againAt = (atMs: number) => againMs && first + atMs + againMs;
    expect([stopped.wakeAtMs, again.wakeAtMs]).toEqual([againAt(200), againAt(300)]);
    expect(watched.row()).toMatchObject({ timer: null, run: null, early: [] });
    expect(watched.state()).toMatchObject({ status: "paused", sinceMs: first + 200 });
    expect(again.effects).toEqual(newEffects());
  });

  it("keeps its alert when it lacks settings, and resolves it when it runs again", () => {
    const watched = watchRun();
    watched.at(first + 100, { reports: [failed(first)] });

    const off = watched.at(first + 200, { isOff: true });
    watched.at(first + 300);
    watched.at(first + minute);
    const on = watched.at(first + minute + 100, { reports: [ok(first + minute)] });

    expect([off.events, on.events]).toEqual([[], ["resolved 1"]]);
  });

  it("ends its alert once when it is removed, and counts on when it comes back", () => {
    const watched = watchRun();
    watched.at(first + 100, { reports: [failed(first)] });
    watched.define(undefined);

    const removed = watched.at(first + 200);
    const again = watched.at(first + 300);
    watched.define(check);
    watched.at(first + 400);
    watched.at(first + minute);
    const back = watched.at(first + minute + 100, { reports: [failed(first + minute)] });

    expect(removed.effects.transitions).toMatchObject([
      { eventId: "probe:1:resolved", endedBecause: "the check was removed" },
    ]);
    expect(again.effects).toEqual(newEffects());
    expect(back.events).toEqual(["opened 2"]);
  });
});

describe("an alert of a check that depends on another", () => {
  const dependsOn = [{ id: "database", kind: "api" as const }];
  const shop = { ...check, dependsOn };
  const well = { isFailing: false, sinceMs: 0, nextRunMs: null, decidesByMs: null };
  const failing = { ...well, isFailing: true, sinceMs: first };
  const undecided = { ...well, nextRunMs: first + 8_000, decidesByMs: first + 20_000 };

  const pending = () => {
    const watched = watchRun({}, shop);
    const { wakeAtMs, events } = watched.at(first + 100, {
      reports: [failed(first)],
      dependency: undecided,
    });
    expect(events).toEqual([]);
    return { watched, lookAtMs: wakeAtMs ?? 0 };
  };

  it("waits for the run that decides about the other one, and opens if that is well", () => {
    const { watched, lookAtMs } = pending();

    const early = watched.at(lookAtMs - 1, { dependency: well });
    const due = watched.at(lookAtMs, { dependency: well });

    expect(lookAtMs).toBe(first + 9_000);
    expect(early.events).toEqual([]);
    expect(due.events).toEqual(["opened 1"]);
    expect(watched.state().pendingAlert).toBeNull();
  });

  it("waits on while that may still turn out to fail", () => {
    const { watched, lookAtMs } = pending();

    const { events, wakeAtMs } = watched.at(lookAtMs, { dependency: undecided });

    expect(events).toEqual([]);
    expect(wakeAtMs).toBeGreaterThan(lookAtMs);
    expect(wakeAtMs).toBeLessThanOrEqual(first + 20_000);
  });

  it("is suppressed if that fails, which is recorded, and opens when it has recovered", () => {
    const { watched, lookAtMs } = pending();

    const suppressed = watched.at(lookAtMs, { dependency: failing });
    const recovered = { ...well, sinceMs: first + 30_000 };
    watched.at(first + minute, { dependency: recovered });
    const reports = [failed(first + minute)];
    const after = watched.at(first + minute + 100, { reports, dependency: recovered });

    expect(suppressed.events).toEqual([]);
    expect(suppressed.effects.suppressions).toMatchObject([{ by: "database", untilMs: null }]);
    expect(after.events).toEqual(["opened 1"]);
    expect(after.effects.suppressions).toMatchObject([{ untilMs: first + minute + 100 }]);
  });

  it("does not open when the check is muted meanwhile", () => {
    const { watched, lookAtMs } = pending();
    watched.change({ quiet: { mutedUntilMs: first + 60 * minute, maintenance: [] } });

    const { events, wakeAtMs } = watched.at(lookAtMs, { dependency: well });

    expect(events).toEqual([]);
    expect(wakeAtMs).toBe(first + minute);
  });

  it("is dropped when the check recovers before", () => {
    const { watched } = pending();
    const later = { ...undecided, decidesByMs: first + 80_000, nextRunMs: first + 65_000 };
    watched.at(first + 9_000, { dependency: later });
    watched.at(first + minute, { dependency: later });

    const reports = [ok(first + minute)];
    const { events } = watched.at(first + minute + 100, { reports, dependency: later });

    expect(events).toEqual([]);
    expect(watched.state()).toMatchObject({ status: "ok", pendingAlert: null });
  });

  it("ends its suppression when the check is removed", () => {
    const { watched, lookAtMs } = pending();
    watched.at(lookAtMs, { dependency: failing });
    watched.define(undefined);

    const { effects } = watched.at(lookAtMs + 1);

    expect(effects.suppressions).toMatchObject([{ by: "database", untilMs: lookAtMs + 1 }]);
  });
});

describe("of any history", () => {
  const places = ["local", "fra", "iad"];
  const dependency = fc.option(
    fc.record({
      isFailing: fc.boolean(),
      sinceMs: fc.integer({ min: 0, max: 40 * minute }),
      nextRunMs: fc.option(fc.integer({ min: 0, max: 40 * minute })),
      decidesByMs: fc.option(fc.integer({ min: 0, max: 40 * minute })),
    }),
    { nil: undefined },
  );
  const step = fc.record({
    // Now and then the clock is set back.
    afterMs: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0, max: 40_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: -90_000, max: 300_000 }) },
    ),
    further: fc.subarray(places),
    reports: fc.array(
      fc.record({
        tick: fc.integer({ min: -2, max: 1 }),
        location: fc.constantFrom(...places),
        grade: fc.constantFrom("ok" as const, "degraded" as const, "failed" as const),
      }),
      { maxLength: 3 },
    ),
    dependency,
    mutedForMs: fc.option(fc.integer({ min: 0, max: 120_000 }), { nil: undefined }),
    change: fc.constantFrom("none", "none", "none", "none", "off", "removed", "often", "silent"),
  });

  type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

  const dependsOn = [{ id: "database", kind: "api" as const }];
  const changed: Record<string, ApiCheck | undefined> = {
    removed: undefined,
    often: { ...check, frequencySeconds: 10, dependsOn },
    silent: { ...check, channel: null, dependsOn },
  };

  function play(steps: readonly Step[]) {
    const watched = watch();
    let nowMs = first;
    return steps.map(({ afterMs, further, reports, dependency: other, mutedForMs, change }) => {
      nowMs += afterMs;
      watched.define(change in changed ? changed[change] : { ...check, dependsOn });
      if (mutedForMs !== undefined) {
        watched.change({ quiet: { mutedUntilMs: nowMs + mutedForMs, maintenance: [] } });
      }
      const tick = nextTick(gridOf(check), nowMs);
      const made = reports.map(({ tick: n, location, grade }) =>
        reportOf(tick + n * minute, { location, grade }),
      );
      const given = { further, isOff: change === "off", dependency: other };
      const isStopped = change === "off" || change === "removed";
      const one = watched.at(nowMs, { ...given, reports: made });
      const { alert } = watched.state();
      const repeat = () => watched.at(nowMs, given);
      return { ...one, nowMs, alert, isStopped, repeat };
    });
  }

  const history = fc.array(step, { minLength: 1, maxLength: 30 });

  it("a decision at the same moment changes nothing more", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const last = play(steps).at(-1);
        const again = last?.repeat();

        expect(again?.effects).toEqual(newEffects());
        expect(again?.wakeAtMs).toBe(last?.wakeAtMs);
      }),
    );
  });

  it("a check is decided again later, and not much later than its next tick", () => {
    fc.assert(
      fc.property(history, (steps) => {
        for (const { nowMs, wakeAtMs, isStopped } of play(steps)) {
          if (wakeAtMs === null) expect(isStopped).toBe(true);
          else expect(wakeAtMs).toBeGreaterThan(nowMs);
          expect(wakeAtMs ?? 0).toBeLessThanOrEqual(nowMs + 2 * minute);
        }
      }),
    );
  });

  it("alerts open and resolve in turn, numbered from 1, and are open in between", () => {
    fc.assert(
      fc.property(history, (steps) => {
        const events: string[] = [];
        for (const one of play(steps)) {
          events.push(...one.events);
          expect(one.alert !== null).toBe(events.length % 2 === 1);
        }

        expect(events).toEqual(
          events.map((_, n) => `${n % 2 === 0 ? "opened" : "resolved"} ${Math.floor(n / 2) + 1}`),
        );
      }),
    );
  });

  it("ticks are run in order while the clock goes on, and none more than twice", () => {
    const forward = history.map((steps) =>
      steps.map((one) => ({ ...one, afterMs: Math.max(0, one.afterMs), change: "none" as const })),
    );
    fc.assert(
      fc.property(forward, (steps) => {
        const runs = play(steps).flatMap((one) => one.runs);

        expect(runs).toEqual(runs.toSorted((a, b) => a - b));
        for (const run of runs) {
          expect(runs.filter((other) => other === run).length).toBeLessThanOrEqual(2);
        }
      }),
    );
  });
});
