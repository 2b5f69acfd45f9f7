/** API checks that are decided in memory while Postgres is away. */
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { QueuedOrder } from "#alerts/outbox.ts";
import { createLog } from "#kernel/log.ts";
import type { ApiCheck } from "#monitor/contract.ts";
import type { Report } from "#monitor/internal.ts";
import { gridOf, nextTick } from "#monitor/rules/grid.ts";
import type { ChangeRow } from "#monitor/state/evaluate.ts";
import { createOutage } from "#monitor/state/outage.ts";
import { type ApiRow, newApiRow, newEffects, newHeartbeatRow } from "#monitor/state/row.ts";
import { aCheckResult, anApiCheck } from "../../support/monitor/check-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";

const second = 1_000;
const check = anApiCheck({ id: "probe", frequencySeconds: 10 });
const grid = gridOf(check);
const first = nextTick(grid, 1_000 * second);

/** Well until now; its next run is that of `first`. */
const wellRow: ApiRow = {
  ...newApiRow(0),
  state: { ...newApiRow(0).state, status: "ok", episodes: 3, decidedRunMs: first - 10 * second },
  timer: { grid, dueMs: first },
};
const alert = {
  episode: 3,
  openedAtMs: 0,
  reason: "local: refused",
  locations: ["local"],
  acknowledged: null,
  rollout: null,
};
const alertedRow: ApiRow = {
  ...wellRow,
  state: { ...wellRow.state, status: "failed", alert },
  addressee: { name: "Verify key", environment: "production", channel: "production" },
};

type Options = { row?: ApiRow; checks?: ApiCheck[] };

/** Postgres has this row, and fails from `first` on. */
function startOutage({ row = wellRow, checks = [check] }: Options = {}) {
  const clock = { nowMs: first };
  const target = { grade: "failed" as "failed" | "ok", reports: true };
  const sent: QueuedOrder["order"][] = [];
  const runs: number[] = [];
  const postgres = { row, isAway: true, effects: newEffects(), whileChanging: () => {} };
  const late: (() => void)[] = [];
  const outage = createOutage({
    readDefinitions: always({ apiChecks: checks }),
    whyOff: () => [],
    settings: { location: "local", runsHere: true, failedAtPercent: 0 },
    probe: ({ id }, scheduledAtMs, report) => {
      runs.push(scheduledAtMs);
      const { grade } = target;
      const result = aCheckResult({ checkId: id, scheduledAtMs, grade, reason: "refused" });
      const given: Report = { scheduledAtMs, results: [result] };
      if (target.reports) void Promise.resolve().then(() => report(id, given));
      else late.push(() => void report(id, given));
    },
    sendNow: async (order) => {
      sent.push(order);
      return { kind: "accepted" };
    },
    change: async (_, change: ChangeRow) => {
      if (postgres.isAway) throw new Error("connection refused");
      postgres.row = change(postgres.row, {
        nowMs: clock.nowMs,
        effects: postgres.effects,
        isDefined: true,
      }) as ApiRow;
      postgres.whileChanging();
    },
    log: createLog({ level: "silent", format: "json" }),
    nowMs: () => clock.nowMs,
  });
  outage.remember([{ id: "probe", row }]);
  return {
    outage,
    clock,
    target,
    postgres,
    runs,
    /** Reports that had not come. */
    late,
    eventIds: () => sent.map((order) => order.transition?.eventId),
    /** It fails once a second for so long. */
    failsFor: async (seconds: number) => {
      for (let n = 0; n < seconds; n += 1) {
        outage.failed();
        await setImmediate();
        await setImmediate();
        clock.nowMs += second;
      }
    },
  };
}

const queued = ({ orders }: ReturnType<typeof newEffects>) =>
  orders.map(({ order }) => order.transition?.eventId);

describe("while Postgres is away", () => {
  it("nothing is run or sent for 30 seconds", async () => {
    const { failsFor, runs, eventIds } = startOutage();

    await failsFor(30);

    expect([runs, eventIds()]).toEqual([[], []]);
  });

  it("a check that fails then is alerted once, by the id that its row gives it", async () => {
    const { failsFor, runs, eventIds } = startOutage();

    await failsFor(60);

    expect(runs.length).toBeGreaterThanOrEqual(3);
    expect(new Set(runs).size).toBe(runs.length);
    expect(eventIds()).toEqual(["probe:4:opened"]);
  });

  it("an alert that was open resolves", async () => {
    const { failsFor, target, eventIds } = startOutage({ row: alertedRow });
    target.grade = "ok";

    await failsFor(60);

    expect(eventIds()).toEqual(["probe:3:resolved"]);
  });

  it("a check that this process has never decided is left alone, and so is a heartbeat", async () => {
    const other = { ...check, id: "other" };
    const { outage, failsFor, eventIds } = startOutage({ checks: [other] });
    outage.remember([{ id: "other", row: newHeartbeatRow() }]);

    await failsFor(60);

    expect(eventIds()).toEqual([]);
  });

  it("a check is left to the process that decided its last tick", async () => {
    const { outage, failsFor, runs, eventIds } = startOutage();
    outage.allDecided(first);

    await failsFor(60);

    expect([runs, eventIds()]).toEqual([[], []]);
  });

  it("a check whose next tick was still to come is decided here", async () => {
    const { outage, failsFor, eventIds } = startOutage();
    outage.allDecided(first - 1);

    await failsFor(60);

    expect(eventIds()).toEqual(["probe:4:opened"]);
  });

  it("an outage that is over sooner begins from the start with the next one", async () => {
    const { outage, failsFor, postgres, eventIds } = startOutage();
    await failsFor(29);
    postgres.isAway = false;
    await outage.over();
    outage.settled();

    await failsFor(29);

    expect(eventIds()).toEqual([]);
    expect(postgres.row).toBe(wellRow);
  });
});

describe("when Postgres is back", () => {
  it("it takes over the open alert, and queues its event by the same id", async () => {
    const { outage, failsFor, postgres, eventIds } = startOutage();
    await failsFor(60);

    postgres.isAway = false;
    await outage.over();

    expect(queued(postgres.effects)).toEqual(eventIds());
    expect(postgres.effects.transitions).toMatchObject([{ eventId: "probe:4:opened" }]);
    expect(postgres.row).toMatchObject({
      state: { episodes: 4, alert: { episode: 4 } },
      addressee: { channel: "production" },
      timer: wellRow.timer,
    });
  });

  it("it takes over an alert that resolved, and all that came after it", async () => {
    const { outage, target, failsFor, postgres, eventIds } = startOutage({ row: alertedRow });
    target.grade = "ok";
    await failsFor(50);
    target.grade = "failed";
    await failsFor(20);

    postgres.isAway = false;
    await outage.over();

    expect(eventIds()).toEqual(["probe:3:resolved", "probe:4:opened"]);
    expect(queued(postgres.effects)).toEqual(eventIds());
    expect(postgres.row.state).toMatchObject({ episodes: 4, alert: { episode: 4 } });
  });

  it("a row that another process has decided since is left as it is", async () => {
    const { outage, failsFor, postgres } = startOutage();
    await failsFor(60);
    const { state } = wellRow;
    postgres.row = {
      ...wellRow,
      state: { ...state, episodes: 4, alert: { ...alert, episode: 4 } },
    };
    const before = postgres.row;

    postgres.isAway = false;
    await outage.over();

    expect(postgres.row).toBe(before);
    expect(postgres.effects).toEqual(newEffects());
  });

  it("a check without an event is left as it is", async () => {
    const { outage, target, failsFor, postgres } = startOutage();
    target.grade = "ok";
    await failsFor(60);

    postgres.isAway = false;
    await outage.over();

    expect(postgres.row).toBe(wellRow);
  });

  it("a run of before that reports later sends nothing", async () => {
    const { outage, target, failsFor, postgres, late, eventIds } = startOutage();
    target.reports = false;
    await failsFor(60);
    postgres.isAway = false;
    await outage.over();

    for (const report of late) report();

    expect(late.length).toBeGreaterThan(0);
    expect(eventIds()).toEqual([]);
  });

  it("a run that reports while it takes over sends nothing", async () => {
    const { outage, target, failsFor, postgres, late, eventIds } = startOutage();
    await failsFor(60);
    Object.assign(target, { grade: "ok", reports: false });
    await failsFor(10);
    postgres.isAway = false;
    postgres.whileChanging = () => {
      for (const report of late) report();
    };

    await outage.over();

    expect(late.length).toBeGreaterThan(0);
    expect(eventIds()).toEqual(["probe:4:opened"]);
    expect(postgres.row.state.alert?.episode).toBe(4);
  });

  it("and away again before it took over, checks go on from where they were", async () => {
    const { outage, target, failsFor, postgres, eventIds } = startOutage();
    await failsFor(60);

    await expect(outage.over()).rejects.toThrow("connection refused");
    target.grade = "ok";
    await failsFor(20);
    postgres.isAway = false;
    await outage.over();

    expect(eventIds()).toEqual(["probe:4:opened", "probe:4:resolved"]);
    expect(queued(postgres.effects)).toEqual(eventIds());
    expect(postgres.row.state).toMatchObject({ episodes: 4, alert: null });
  });
});
