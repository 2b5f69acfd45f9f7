import { describe, expect, it } from "vitest";
import type { ComparedSentinel, History, Ledger, Verdict } from "#rollout/comparison/contract.ts";
import { evaluate } from "#rollout/comparison/evaluate.ts";

const minuteMs = 60_000;
const first = 1_800_000_000_000;
const startMinute = 120;
const settledMinute = 122;
const soakStart = settledMinute + 3;

type Rates = { requests: number; errors: number; slow: number; restarts: number };
type Rate = (minute: number, sentinel: { isNew: boolean; region: string }) => Partial<Rates>;

type Shape = { sentinels?: number; drawn?: number; regions?: number; minutes?: number };

/** Errors come in their turn: each sentinel at other minutes. */
function buildHistory(rate: Rate, shape: Shape = {}): History {
  const { sentinels = 40, drawn = 20, regions = 2, minutes = soakStart + 30 } = shape;
  const fleet = Array.from({ length: sentinels }, (_, i): ComparedSentinel => {
    const region = `r${i % regions}`;
    const isNew = i < drawn;
    const series = (kind: keyof Rates, usual: number) => {
      let owed = ((i * 7) % 10) / 10;
      return Float64Array.from({ length: minutes }, (_, minute) => {
        const isOn = isNew && minute >= settledMinute;
        owed += rate(minute, { isNew: isOn, region })[kind] ?? usual;
        const whole = Math.floor(owed);
        owed -= whole;
        return whole;
      });
    };
    return {
      id: `s${i}`,
      region,
      updated_at: isNew ? first + settledMinute * minuteMs : null,
      requests: series("requests", 600),
      errors: series("errors", 0.6),
      slow: series("slow", 30),
      restarts: series("restarts", 0),
    };
  });
  const started_at = first + startMinute * minuteMs;
  const waves = [{ settled_at: first + settledMinute * minuteMs }];
  return {
    first_minute: first,
    rollout: { started_at, soak_minutes: 30, waves },
    sentinels: fleet,
  };
}

const endOf = (minutes: number) => first + (soakStart + minutes) * minuteMs;

function evaluateAt(minutes: number, rate: Rate, shape?: Shape): Verdict {
  return evaluate(buildHistory(rate, shape), endOf(minutes));
}

describe("decisions", () => {
  it("an image with ten times the errors is worse in the first minutes", () => {
    const found = evaluateAt(3, (_, { isNew }) => (isNew ? { errors: 6 } : {}));

    expect(found.verdict).toBe("worse");
    expect(found.may_go_early).toBe(false);
    expect(found.reason).toMatch(/^the new image is worse .*errors 1 % beside 0\.1 %/);
    expect(found.evidence.total).toBeGreaterThan(found.evidence.threshold);
  });

  it("the same image is not worse, and may continue early", () => {
    const found = evaluateAt(30, () => ({}));

    expect(found).toMatchObject({ verdict: "not_worse", may_go_early: true });
    expect(found.evidence).toMatchObject({ mode: "exact", new_sentinels: 20, old_sentinels: 20 });
  });

  it("the fix of a bad image is better although it has errors", () => {
    const found = evaluateAt(10, (_, { isNew }) => ({ errors: isNew ? 6 : 30 }));

    expect(found.verdict).toBe("better");
    expect(found.reason).toContain("fewer errors with the new image: 1 % beside 5 %");
  });

  it("an outage of both sides is not stopped", () => {
    const outage: Rate = (minute) => (minute > soakStart ? { errors: 400 } : {});

    const found = evaluateAt(20, outage);

    expect(found.verdict).not.toBe("worse");
    expect(found.evidence.total).toBeLessThan(10);
  });

  it("one new sentinel in trouble is stopped by the guard", () => {
    const rate: Rate = (_, { isNew }) => (isNew ? { errors: 300 } : {});

    const found = evaluateAt(3, rate, { drawn: 1 });

    expect(found.evidence).toMatchObject({ guard: true, mode: "history" });
    expect(found.ledger.guard).toBe(endOf(3));
    expect(found.verdict).toBe("worse");
  });

  it("the guard stops nothing that fails on the old side too", () => {
    const found = evaluateAt(5, (minute) => (minute > settledMinute ? { errors: 300 } : {}), {
      drawn: 1,
    });

    expect(found.evidence.guard).toBeUndefined();
  });

  it("restarts of the new image are found", () => {
    const found = evaluateAt(30, (_, { isNew }) => (isNew ? { restarts: 0.3 } : {}));

    expect(found.verdict).toBe("worse");
    expect(found.reason).toContain("restarts");
  });
});

describe("inconclusive", () => {
  it("names too little time before the rollout", () => {
    const history = buildHistory(() => ({}));

    const found = evaluate({ ...history, first_minute: first + 90 * minuteMs }, endOf(5));

    expect(found.verdict).toBe("inconclusive");
    expect(found.reason).toContain("60 minutes before the rollout, and has those of 30");
  });

  it("comes before a wave has settled, and before its soak", () => {
    const history = buildHistory(() => ({}));

    expect(evaluate(history, first + 121 * minuteMs).reason).toContain("no gated wave has settled");
    expect(evaluate(history, endOf(0)).reason).toContain("no minute has been counted");
  });

  it("is the answer without traffic, in finite numbers", () => {
    const found = evaluateAt(30, () => ({ requests: 0, errors: 0, slow: 0 }));

    expect(found.verdict).toBe("inconclusive");
    expect(found.reason).toBe("the new sentinels had no request in 30 minutes of the soak");
    expect(numbersIn(found).every(Number.isFinite)).toBe(true);
  });

  it("says how many sentinels would be needed", () => {
    const found = evaluateAt(30, (_, { isNew }) => (isNew ? { errors: 0.9 } : {}), { drawn: 1 });

    expect(found.reason).toMatch(
      /1 new sentinel can only be judged for gross failure; about \d+ would/,
    );
  });

  it("names regions that run one image only", () => {
    const history = buildHistory(() => ({}), { drawn: 0, regions: 4 });
    const sentinels = history.sentinels.map((one, i) =>
      one.region === "r0" || (one.region === "r1" && i < 24)
        ? { ...one, updated_at: first + settledMinute * minuteMs }
        : one,
    );

    const found = evaluate({ ...history, sentinels }, endOf(2));

    expect(found.reason).toContain("regions with one image only say nothing: r0 (new)");
  });

  it("names no region that is compared with other small ones", () => {
    const history = buildHistory(() => ({}), { drawn: 8, regions: 20 });

    const found = evaluate(history, endOf(2));

    expect(found.verdict).toBe("inconclusive");
    expect(found.evidence.mode).toBe("exact");
    expect(found.reason).not.toContain("regions");
  });

  it("promises no doubled error rate of a few new sentinels, but more than of one", () => {
    const found = evaluateAt(2, () => ({}), { drawn: 4 });

    expect(found.reason).toMatch(/; 4 new sentinels find great differences only; about \d+ would/);
  });

  it("leaves out sentinels that reported less than half of the window", () => {
    const history = buildHistory(() => ({}));
    const [one] = history.sentinels;
    one?.errors.fill(Number.NaN, soakStart);

    const found = evaluate(history, endOf(10));

    expect(found.evidence.new_sentinels).toBe(19);
  });

  it("takes no count that is none", () => {
    const history = buildHistory(() => ({}));
    history.sentinels[0]?.requests.fill(Number.POSITIVE_INFINITY);
    history.sentinels[1]?.errors.fill(-5);
    history.sentinels[2]?.slow.fill(1e300);

    const found = evaluate(history, endOf(10));

    expect(found.evidence.new_sentinels).toBe(17);
    expect(numbersIn(found).every(Number.isFinite)).toBe(true);
  });
});

function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(numbersIn);
}

describe("the ledger", () => {
  const mild: Rate = (minute, { isNew }) => (isNew ? { errors: 0.9 + (minute % 3) / 5 } : {});

  function everyMinute(history: History, pass: (ledger: Ledger) => Ledger): Verdict {
    let ledger: Ledger | undefined;
    let found: Verdict | undefined;
    for (let minute = 0; minute <= 25; minute += 1) {
      found = evaluate({ ...history, ...(ledger && { ledger }) }, endOf(minute));
      ledger = pass(found.ledger);
    }
    return found as Verdict;
  }

  it.each([20, 2])("one late call has the evidence of a call each minute: %i new", (drawn) => {
    const history = buildHistory(mild, { drawn });

    const often = everyMinute(history, (ledger) => ledger);

    expect(evaluate(history, endOf(25))).toEqual(often);
    expect(often.evidence.total).toBeGreaterThan(0);
  });

  it("the evidence is the same if the ledger was stored as JSON", () => {
    const history = buildHistory(mild);

    const stored = everyMinute(history, (ledger) => JSON.parse(JSON.stringify(ledger)) as Ledger);

    expect(stored).toEqual(evaluate(history, endOf(25)));
  });

  it("a repeated call adds nothing", () => {
    const history = buildHistory(mild);
    const { ledger } = evaluate(history, endOf(12));

    expect(evaluate({ ...history, ledger }, endOf(12)).ledger).toEqual(ledger);
  });

  it("the looks of a wave end with the next one's first deploy", () => {
    const history = buildHistory(mild);
    const next = endOf(7) + 20_000;
    const sentinels = history.sentinels.map((one, i) =>
      i === 39 ? { ...one, updated_at: next } : one,
    );
    const waves = [...history.rollout.waves, { settled_at: null }];

    const found = evaluate(
      { ...history, sentinels, rollout: { ...history.rollout, waves } },
      endOf(20),
    );

    expect(found.ledger).toMatchObject({ wave: 0, look: 7 });
  });

  it("a later wave keeps the total and has sums of its own", () => {
    const history = buildHistory(mild, { minutes: soakStart + 60 });
    const settled = endOf(20);
    const sentinels = history.sentinels.map((one, i) =>
      i === 39 ? { ...one, updated_at: settled } : one,
    );
    const rollout = {
      ...history.rollout,
      waves: [...history.rollout.waves, { settled_at: settled }],
    };
    const both = { ...history, sentinels, rollout };

    const between = evaluate(both, endOf(22));
    const late = evaluate(both, endOf(40));
    const resumed = evaluate({ ...both, ledger: between.ledger }, endOf(40));

    expect(between.ledger).toMatchObject({ wave: 1, look: 0, sums: null });
    expect(late.ledger.total).toBeGreaterThan(between.ledger.total);
    expect(resumed).toEqual(late);
  });
});

it("nothing that is given changes", () => {
  const history = buildHistory(() => ({}));
  const before = structuredClone(history);

  evaluate(history, endOf(15));

  expect(history).toEqual(before);
});
