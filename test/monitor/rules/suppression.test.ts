import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type Answer,
  evaluateOpening,
  longestPendingMs,
  spansOfChange,
  stateOfCheck,
  withBarrier,
} from "#monitor/rules/suppression.ts";
import { newCheckState } from "#monitor/rules/verdict.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";

const anAnswer = (changes: Partial<Answer> = {}): Answer => ({
  id: "database",
  isFailing: false,
  sinceMs: 0,
  nextRunMs: null,
  decidesByMs: null,
  ...changes,
});
const opening = { atMs: 100_000, runAtMs: 99_000 };
const none = { suppressed: null, pendingAlert: null };
const suppressed = { by: "database", sinceMs: 50_000, reason: "refused" };

it("suppresses while one of them fails", () => {
  const answers = [anAnswer({ id: "cache" }), anAnswer({ isFailing: true })];

  expect(evaluateOpening(none, opening, answers)).toEqual({ kind: "suppressed", by: "database" });
});

it("alerts when none of them answers", () => {
  expect(evaluateOpening({ ...none, suppressed }, opening, [])).toEqual({ kind: "none" });
});

it("an alert waits for a run that starts after the failed one, and asks shortly after its start", () => {
  const answers = [anAnswer({ nextRunMs: 130_000, decidesByMs: 147_000 })];

  const barrier = evaluateOpening(none, opening, answers);

  expect(barrier).toEqual({ kind: "pending", lookAtMs: 131_000 });
});

it("an alert does not wait for a run that is too far away", () => {
  const answers = [anAnswer({ nextRunMs: 400_000, decidesByMs: 417_000 })];

  expect(evaluateOpening(none, opening, answers)).toEqual({ kind: "none" });
});

it("an alert waits no longer than the limit, counted from the first failed run", () => {
  const sinceMs = opening.atMs - longestPendingMs;
  const pendingAlert = { sinceMs, runAtMs: 0, lookAtMs: 0, reason: "", locations: [] };
  const answers = [anAnswer({ nextRunMs: 130_000, decidesByMs: 147_000 })];

  expect(evaluateOpening({ ...none, pendingAlert }, opening, answers)).toEqual({ kind: "none" });
});

it("stays suppressed by a run that began before the other one recovered", () => {
  const answers = [anAnswer({ sinceMs: 99_500 })];

  expect(evaluateOpening({ ...none, suppressed }, opening, answers).kind).toBe("suppressed");
});

it("a check never alerts while one of them fails", () => {
  const answer = fc.record({
    id: fc.constantFrom("a", "b", "database"),
    isFailing: fc.boolean(),
    sinceMs: fc.nat(200_000),
    nextRunMs: fc.option(fc.nat(400_000)),
    decidesByMs: fc.option(fc.nat(400_000)),
  });
  fc.assert(
    fc.property(fc.array(answer), fc.boolean(), (answers, isSuppressed) => {
      const barrier = evaluateOpening(
        isSuppressed ? { ...none, suppressed } : none,
        opening,
        answers,
      );

      const isFailing = answers.some((one) => one.isFailing);
      if (isFailing) expect(barrier.kind).toBe("suppressed");
    }),
  );
});

it("always alerts once they have recovered and the check goes on to fail", () => {
  const step = fc.record({
    gapMs: fc.integer({ min: 1_000, max: 120_000 }),
    isFailing: fc.boolean(),
    nextInMs: fc.option(fc.nat(120_000)),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      let atMs = 1_000_000;
      let state = newCheckState(atMs);
      const decide = (answer: Answer) => {
        const barrier = evaluateOpening(state, { atMs, runAtMs: atMs }, [answer]);
        const failure = { reason: "refused", locations: [] };
        state = withBarrier(state, barrier, { atMs, runAtMs: atMs, failure });
        return barrier.kind;
      };
      for (const { gapMs, isFailing, nextInMs } of steps) {
        atMs += gapMs;
        const nextRunMs = nextInMs === null ? null : atMs + nextInMs;
        const decidesByMs = nextRunMs === null ? null : nextRunMs + 1_000;
        decide(anAnswer({ isFailing, sinceMs: atMs, nextRunMs, decidesByMs }));
      }
      const recoveredMs = atMs;
      const kinds: string[] = [];
      while (atMs < recoveredMs + longestPendingMs + 30_000) {
        atMs += 10_000;
        const nextRunMs = atMs + 5_000;
        const decidesByMs = nextRunMs + 1_000;
        kinds.push(decide(anAnswer({ sinceMs: recoveredMs, nextRunMs, decidesByMs })));
      }

      expect(kinds).toContain("none");
    }),
  );
});

const database = anApiCheck({ id: "database", frequencySeconds: 60 });
const limitMs = 17_000;
const stateOf = (changes: object) => ({ ...newCheckState(0), decidedRunMs: 100_000, ...changes });

it.each([
  ["failed", { status: "failed" as const }, true],
  ["ok", { status: "ok" as const }, false],
  ["silent without an alert", { status: "silent" as const }, false],
  ["off", { status: "paused" as const }, false],
])("says of a check that is %s whether it fails", (_, changes, isFailing) => {
  const now = { state: stateOf(changes), dueMs: 160_000, openRunMs: null, limitMs };

  const told = stateOfCheck(database, now, { sinceMs: 90_000, nowMs: 110_000 });

  expect(told).toMatchObject({ isFailing, nextRunMs: null, decidesByMs: null });
});

it("a check that was not decided for three periods suppresses nothing", () => {
  const now = { state: stateOf({ status: "failed" }), dueMs: 160_000, openRunMs: null, limitMs };

  const told = stateOfCheck(database, now, { sinceMs: 400_000, nowMs: 400_000 });

  expect(told.isFailing).toBe(false);
});

it("a check names the run that has started, or else the next one", () => {
  const now = { state: stateOf({ status: "ok" }), dueMs: 160_000, limitMs };
  const asked = { sinceMs: 105_000, nowMs: 110_000 };

  const begun = stateOfCheck(database, { ...now, openRunMs: 106_000 }, asked);
  const next = stateOfCheck(database, { ...now, openRunMs: 100_500 }, asked);

  expect([begun.decidesByMs, next.decidesByMs]).toEqual([123_000, 177_000]);
});

const lasting = { ...suppressed, untilMs: null };
const anew = { ...suppressed, sinceMs: 70_000 };
const other = { ...suppressed, by: "cache", sinceMs: 80_000 };

it.each([
  ["none", null, null, []],
  ["one that goes on", suppressed, { ...suppressed, reason: "slow" }, []],
  ["one that began", null, suppressed, [lasting]],
  ["one that ended", suppressed, null, [{ ...suppressed, untilMs: 90_000 }]],
  [
    "another one",
    suppressed,
    other,
    [
      { ...suppressed, untilMs: 80_000 },
      { ...other, untilMs: null },
    ],
  ],
  [
    "one that ended and began again unseen",
    suppressed,
    anew,
    [
      { ...suppressed, untilMs: 70_000 },
      { ...anew, untilMs: null },
    ],
  ],
])("records a suppression that began or ended: %s", (_, told, now, spans) => {
  expect(spansOfChange({ last: told, now }, 90_000)).toEqual(spans);
});

it("a span has no end before its start, if the clock was set back", () => {
  const [span] = spansOfChange({ last: suppressed, now: null }, 10_000);

  expect(span?.untilMs).toBe(suppressed.sinceMs);
});
