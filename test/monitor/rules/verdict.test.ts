import { describe, expect, it } from "vitest";
import type { CheckResult, CheckState, Grade } from "#monitor/contract.ts";
import { decide, newCheckState, type Run, type VerdictRules } from "#monitor/rules/verdict.ts";
import { aCheckResult } from "../../support/monitor/check-builders.ts";

const minute = 60_000;

function rules(changes: Partial<VerdictRules> = {}): VerdictRules {
  return {
    checkId: "verify-key",
    failedRunThreshold: 1,
    failedAtPercent: 0,
    isQuiet: false,
    rollout: null,
    ...changes,
  };
}

/** One closed run; `null` is a location that says nothing. */
function aRun(tick: number, grades: Record<string, Grade | null>, isClosed = true): Run {
  const scheduledAtMs = tick * minute;
  const results: CheckResult[] = Object.entries(grades).flatMap(([location, grade]) =>
    grade === null
      ? []
      : [aCheckResult({ location, grade, scheduledAtMs, reason: `was ${grade}` })],
  );
  return {
    scheduledAtMs,
    expected: Object.keys(grades),
    results,
    isClosed,
    atMs: scheduledAtMs + 50,
  };
}

/** Runs one after the other; what each of them said. */
function play(runs: Run[], of: VerdictRules = rules()) {
  let state = newCheckState(0);
  const events: string[] = [];
  for (const run of runs) {
    const decision = decide(state, run, of);
    state = decision.state;
    if (decision.transition !== null) events.push(decision.transition.eventId);
  }
  return { state, events };
}

function alerting(location: string): CheckState {
  return play([aRun(1, { [location]: "failed" })]).state;
}

describe("one location", () => {
  it("the first failed run opens an alert", () => {
    const { events, state } = play([aRun(1, { local: "ok" }), aRun(2, { local: "failed" })]);

    expect(events).toEqual(["verify-key:1:opened"]);
    expect(state).toMatchObject({ status: "failed", sinceMs: 2 * minute + 50 });
  });

  it("a check that fails from the start alerts with its first run", () => {
    expect(play([aRun(1, { local: "failed" })]).events).toEqual(["verify-key:1:opened"]);
  });

  it("further failed runs open no other alert", () => {
    const { events } = play([1, 2, 3].map((tick) => aRun(tick, { local: "failed" })));

    expect(events).toEqual(["verify-key:1:opened"]);
  });

  it("the first run that is not failed resolves", () => {
    const { events } = play([aRun(1, { local: "failed" }), aRun(2, { local: "ok" })]);

    expect(events).toEqual(["verify-key:1:opened", "verify-key:1:resolved"]);
  });

  it("a degraded run resolves too: degraded is not failed", () => {
    const { events, state } = play([aRun(1, { local: "failed" }), aRun(2, { local: "degraded" })]);

    expect(events).toEqual(["verify-key:1:opened", "verify-key:1:resolved"]);
    expect(state.status).toBe("degraded");
  });

  it("failed, degraded, ok is one failure and one recovery", () => {
    const grades: Grade[] = ["failed", "degraded", "ok"];

    const { events } = play(grades.map((grade, i) => aRun(i + 1, { local: grade })));

    expect(events).toEqual(["verify-key:1:opened", "verify-key:1:resolved"]);
  });

  it("a degraded run opens nothing", () => {
    expect(play([aRun(1, { local: "degraded" })]).events).toEqual([]);
  });

  it("each failure after a recovery is an episode of its own", () => {
    const { events } = play([
      aRun(1, { local: "failed" }),
      aRun(2, { local: "ok" }),
      aRun(3, { local: "failed" }),
    ]);

    expect(events.at(-1)).toBe("verify-key:2:opened");
  });

  it("a threshold of two waits for the second failed run in a row", () => {
    const runs = (["failed", "ok", "failed", "failed"] as const).map((grade, i) =>
      aRun(i + 1, { local: grade }),
    );

    const { events } = play(runs, rules({ failedRunThreshold: 2 }));

    expect(events).toEqual(["verify-key:1:opened"]);
  });

  it("an alert names the rollout in progress", () => {
    const rollout = { rolloutId: "ro_1", fleet: "singleton", image: "a", wave: 3 };

    const { transition } = decide(
      newCheckState(0),
      aRun(1, { local: "failed" }),
      rules({ rollout }),
    );

    expect(transition).toMatchObject({ rollout, reason: "local: was failed" });
  });

  it("a run that was decided already changes nothing", () => {
    const { state } = play([aRun(2, { local: "ok" })]);

    expect(decide(state, aRun(2, { local: "failed" }), rules()).state).toBe(state);
    expect(decide(state, aRun(1, { local: "failed" }), rules()).state).toBe(state);
  });
});

it.each([12, 24 * 60, 3 * 365 * 24 * 60])(
  "a clock that was %i minutes ahead for a run does not end the watch when it is right again",
  (minutes) => {
    const { events } = play([
      aRun(minutes, { local: "ok" }),
      aRun(1, { local: "failed" }),
      aRun(2, { local: "ok" }),
    ]);

    expect(events).toEqual(["verify-key:1:opened", "verify-key:1:resolved"]);
  },
);

describe("several locations", () => {
  it("any failing location fails the run by default", () => {
    const { events } = play([aRun(1, { fra: "ok", iad: "failed", syd: "ok" })]);

    expect(events).toEqual(["verify-key:1:opened"]);
  });

  it("the alert names where it failed and one reason", () => {
    const run = aRun(1, { fra: "ok", syd: "failed", iad: "failed" });

    const { transition } = decide(newCheckState(0), run, rules());

    expect(transition).toMatchObject({
      locations: ["iad", "syd"],
      reason: "syd: was failed (and 1 more locations)",
    });
  });

  it("a failure alerts before the others have reported", () => {
    const run = aRun(1, { fra: "failed", iad: null }, false);

    expect(decide(newCheckState(0), run, rules()).transition?.kind).toBe("opened");
  });

  it("the rest of a run that alerted early changes nothing", () => {
    const { events, state } = play([
      aRun(1, { fra: "failed", iad: null }, false),
      aRun(1, { fra: "failed", iad: "ok" }),
    ]);

    expect(events).toEqual(["verify-key:1:opened"]);
    expect(state.failedRuns).toBe(1);
  });

  it("a recovery waits until all have reported", () => {
    const state = alerting("fra");

    expect(decide(state, aRun(2, { fra: "ok", iad: null }, false), rules()).transition).toBeNull();
    expect(decide(state, aRun(2, { fra: "ok", iad: "ok" }), rules()).transition?.kind).toBe(
      "resolved",
    );
  });

  it.each([
    [50, { a: "failed", b: "ok", c: "ok", d: "ok" }, 0],
    [50, { a: "failed", b: "failed", c: "ok", d: "ok" }, 1],
    [100, { a: "failed", b: "failed", c: "failed", d: "ok" }, 0],
    [100, { a: "failed", b: "failed", c: "failed", d: "failed" }, 1],
  ] as const)("at %d percent, %j opens %d alerts", (failedAtPercent, grades, count) => {
    expect(play([aRun(1, grades)], rules({ failedAtPercent })).events).toHaveLength(count);
  });

  it("fewer failures than the quorum show as degraded, never as ok", () => {
    const { state } = play([aRun(1, { a: "failed", b: "ok" })], rules({ failedAtPercent: 100 }));

    expect(state.status).toBe("degraded");
  });

  it("before all have reported, those that have not count as ok", () => {
    const run = aRun(1, { a: "failed", b: null, c: null, d: null }, false);

    expect(play([run], rules({ failedAtPercent: 50 })).events).toEqual([]);
  });

  it("a report that comes twice counts once", () => {
    const run = aRun(1, { a: "failed", b: "ok", c: "ok" });
    const [first] = run.results;
    const twice = { ...run, results: first ? [first, ...run.results] : [] };

    expect(play([twice], rules({ failedAtPercent: 50 })).events).toEqual([]);
  });
});

describe("silence", () => {
  it("a run that no location reports is silent, neither ok nor failed", () => {
    const { events, state } = play([aRun(1, { fra: "ok" }), aRun(2, { fra: null })]);

    expect(events).toEqual([]);
    expect(state.status).toBe("silent");
  });

  it("a run without reports resolves nothing", () => {
    const { state, transition } = decide(alerting("fra"), aRun(2, { fra: null }), rules());

    expect(transition).toBeNull();
    expect(state.alert).not.toBeNull();
  });

  it("a location that failed and is now silent holds the alert open", () => {
    const { transition, state } = decide(
      alerting("fra"),
      aRun(2, { fra: null, iad: "ok" }),
      rules(),
    );

    expect(transition).toBeNull();
    expect(state.status).toBe("failed");
  });

  it("a location that is no longer expected holds nothing open", () => {
    expect(decide(alerting("fra"), aRun(2, { iad: "ok" }), rules()).transition?.kind).toBe(
      "resolved",
    );
  });

  it("a silent location is marked, with its last grade", () => {
    const { state } = play([aRun(1, { fra: "ok", iad: "ok" }), aRun(2, { fra: "ok", iad: null })]);

    expect(state.locations["iad"]).toMatchObject({ isSilent: true, reportedAtMs: minute });
    expect(state.locations["fra"]).toMatchObject({ isSilent: false, reportedAtMs: 2 * minute });
  });

  it("a silent run between two failed ones does not end their row", () => {
    const runs = [aRun(1, { fra: "failed" }), aRun(2, { fra: null }), aRun(3, { fra: "failed" })];

    expect(play(runs, rules({ failedRunThreshold: 2 })).events).toEqual(["verify-key:1:opened"]);
  });
});

describe("quiet", () => {
  const quiet = rules({ isQuiet: true });

  it("a muted check fails without an alert", () => {
    const { state, transition } = decide(newCheckState(0), aRun(1, { fra: "failed" }), quiet);

    expect(transition).toBeNull();
    expect(state).toMatchObject({ status: "failed", alert: null });
  });

  it("a check that still fails after a maintenance window alerts then", () => {
    const { state } = play([aRun(1, { fra: "failed" })], quiet);

    expect(decide(state, aRun(2, { fra: "failed" }), rules()).transition?.kind).toBe("opened");
  });

  it("an alert that was open before is not opened again after the window", () => {
    const during = decide(alerting("fra"), aRun(2, { fra: "failed" }), quiet).state;

    expect(decide(during, aRun(3, { fra: "failed" }), rules()).transition).toBeNull();
  });

  it("an alert that was open before resolves within the window", () => {
    expect(decide(alerting("fra"), aRun(2, { fra: "ok" }), quiet).transition?.kind).toBe(
      "resolved",
    );
  });

  it("an acknowledged alert stays acknowledged while it is open", () => {
    const state = alerting("fra");
    const acknowledged = { by: "ana", atMs: 1 };
    const seen = { ...state, alert: state.alert && { ...state.alert, acknowledged } };

    const after = decide(seen, aRun(2, { fra: "failed" }), rules()).state;

    expect(after.alert?.acknowledged).toEqual(acknowledged);
  });
});
