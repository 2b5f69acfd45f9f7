/** A heartbeat from decision to decision: what is written of it, and when it is decided next. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Heartbeat, Ping } from "#monitor/contract.ts";
import type { DependencyState } from "#monitor/rules/suppression.ts";
import {
  dependencyOfHeartbeat,
  evaluateHeartbeat,
  type HeartbeatInput,
  isWatched,
} from "#monitor/state/evaluate-heartbeat.ts";
import { type HeartbeatRow, newEffects, newHeartbeatRow } from "#monitor/state/row.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const minute = 60_000;
const day = 86_400_000;
/** A ping may wait so long until it is stored. */
const slackMs = 120;
/** Every five minutes, one minute of grace: due at 6, 11, 16 … after the last ping. */
const counts = aHeartbeat({ id: "counts", periodSeconds: 300, graceSeconds: 60 });

const success = (atMs: number): Ping => ({ kind: "success", atMs });
const start = (atMs: number): Ping => ({ kind: "start", atMs });
const failure = (atMs: number): Ping => ({ kind: "fail", atMs, exitCode: null });

type Given = Partial<HeartbeatInput> & { dependency?: DependencyState };

/** Decides the same row again and again; each decision is written as the store would, in JSON. */
function watch(heartbeat: Heartbeat | undefined, begun: Partial<HeartbeatRow> = {}) {
  let row: HeartbeatRow = { ...newHeartbeatRow(), ...begun };
  return {
    row: () => row,
    state: () => row.state,
    change: (changes: Partial<HeartbeatRow>) => {
      row = { ...row, ...changes };
    },
    at: (nowMs: number, { dependency, ...given }: Given = {}) => {
      const effects = newEffects();
      const input = {
        heartbeat,
        pings: [],
        lastPingAtMs: null,
        hasUrl: true,
        absences: { spans: [], isDoubtful: false },
        ...given,
      };
      const dependencyOf = () => dependency ?? null;
      const moment = { nowMs, rollout: null, dependencyOf, effects };
      const { row: decided, wakeAtMs } = evaluateHeartbeat("counts", row, input, moment);
      const stored = JSON.parse(JSON.stringify(decided));
      expect(stored).toStrictEqual(decided);
      row = stored;
      return {
        wakeAtMs,
        effects,
        events: effects.transitions.map(({ kind, atMs }) => [kind, atMs]),
        results: effects.results.map(({ grade, scheduledAtMs }) => [grade, scheduledAtMs]),
      };
    },
  };
}

/** Pinged at 0, and ok. */
function watchOk(heartbeat = counts) {
  const watched = watch(heartbeat);
  watched.at(0, { pings: [success(0)] });
  return watched;
}

describe("a heartbeat", () => {
  it("has no deadline before somebody has its ping URL", () => {
    const watched = watch(counts);

    const { wakeAtMs } = watched.at(0, { hasUrl: false });

    expect(wakeAtMs).toBeNull();
    expect(watched.state()).toBeNull();
    expect(isWatched(watched.row())).toBe(true);
  });

  it("is due the period and the grace after it has a ping URL", () => {
    const watched = watch(counts);

    expect(watched.at(0).wakeAtMs).toBe(6 * minute + slackMs);
    expect(watched.state()?.status).toBe("pending");
    expect(watched.at(6 * minute + slackMs).events).toEqual([["opened", 6 * minute + slackMs]]);
  });

  it("does not fail before every ping that met the deadline is stored", () => {
    const watched = watchOk();

    const { events, wakeAtMs } = watched.at(6 * minute + slackMs - 1);

    expect(events).toEqual([]);
    expect(wakeAtMs).toBe(6 * minute + slackMs);
  });

  it("alerts once, wakes no more, and recovers with a ping", () => {
    const watched = watchOk();
    const opened = watched.at(7 * minute);
    const again = watched.at(8 * minute);

    const resolved = watched.at(17 * minute, { pings: [success(17 * minute)] });

    expect(opened.events).toEqual([["opened", 7 * minute]]);
    expect(opened.effects.orders.map(({ queue }) => queue)).toEqual(["counts"]);
    expect(opened.wakeAtMs).toBeNull();
    expect([again.events, again.wakeAtMs]).toEqual([[], null]);
    expect(resolved.effects.transitions).toMatchObject([{ kind: "resolved", missedPings: 3 }]);
    expect(resolved.effects.orders.length).toBe(1);
    expect(resolved.results).toEqual([["ok", 17 * minute]]);
    expect(resolved.wakeAtMs).toBe(23 * minute + slackMs);
  });

  it("takes the pings that wait in their order, each with its result, though all have come to an end", () => {
    const watched = watchOk();
    const pings = [start(minute), failure(minute + 1), success(minute + 2), failure(minute + 3)];

    const { effects, results } = watched.at(2 * minute, { pings });

    expect(effects.transitions.map(({ eventId }) => eventId)).toEqual([
      "counts:1:opened",
      "counts:1:resolved",
      "counts:2:opened",
    ]);
    expect(results).toEqual([
      ["failed", minute + 1],
      ["ok", minute + 2],
      ["failed", minute + 3],
    ]);
    expect(effects.results[0]?.durationMs).toBe(1);
  });

  it("takes the last success of the time without a watch silently, and before the pings that wait", () => {
    const watched = watchOk();

    const { results, events, wakeAtMs } = watched.at(6 * minute + slackMs, {
      lastPingAtMs: 4 * minute,
      pings: [start(6 * minute)],
    });

    expect(watched.state()).toMatchObject({ lastPingAtMs: 4 * minute, startedAtMs: 6 * minute });
    expect([results, events]).toEqual([[], []]);
    expect(wakeAtMs).toBe(7 * minute + slackMs);
    expect(isWatched(watched.row())).toBe(true);
  });

  it("is not watched while it is ok and no run has begun", () => {
    const watched = watchOk();

    expect(isWatched(watched.row())).toBe(false);
    watched.at(minute, { pings: [start(minute)] });
    expect(isWatched(watched.row())).toBe(true);
    watched.at(2 * minute, { pings: [success(2 * minute)] });
    expect(isWatched(watched.row())).toBe(false);
  });

  it("is decided in a second if it is not known yet whether pings could be taken", () => {
    const watched = watchOk();
    const absences = { spans: [], isDoubtful: true };

    const doubtful = watched.at(7 * minute, { absences });
    const known = watched.at(7 * minute + 1_000);

    expect(doubtful).toMatchObject({ events: [], wakeAtMs: 7 * minute + 1_000 });
    expect(known.events.length).toBe(1);
  });

  it("stays due, however many starts come, until it is known if pings could be taken", () => {
    const watched = watchOk();
    const began = watched.at(minute, { pings: [start(minute)], absences: null });
    const again = watched.at(9 * minute, { pings: [start(9 * minute)], absences: null });

    const opened = watched.at(10 * minute + slackMs);

    expect(began.wakeAtMs).toBe(2 * minute + slackMs);
    expect(again).toMatchObject({ events: [], wakeAtMs: 6 * minute + slackMs });
    expect(opened.events.length).toBe(1);
  });

  it("is given another grace after an absence in which a ping may be lost, and is watched meanwhile", () => {
    const watched = watchOk();
    const spans = [{ fromMs: 5 * minute, toMs: 7 * minute, isOver: true }];
    const absences = { spans, isDoubtful: false };

    const held = watched.at(7 * minute, { absences });
    const late = watched.at(8 * minute + slackMs, { absences });

    expect(held).toMatchObject({ events: [], wakeAtMs: 8 * minute + slackMs });
    expect(late.effects.transitions[0]?.reason).toContain("away");
  });

  it("corrects times of a clock that was ahead, so that the next ping counts", () => {
    const watched = watch(counts);
    watched.at(day, { pings: [success(day)] });

    const { wakeAtMs } = watched.at(minute, { lastPingAtMs: minute - 1 });

    expect(watched.state()).toMatchObject({ lastPingAtMs: minute - 1, status: "ok" });
    expect(wakeAtMs).toBe(7 * minute - 1 + slackMs);
  });

  it("counts a ping that a wrong clock has written as one of now", () => {
    const watched = watchOk();

    watched.at(minute, { lastPingAtMs: day });

    expect(watched.state()?.lastPingAtMs).toBe(minute);
  });
});

describe("a quiet heartbeat", () => {
  const quiet = { mutedUntilMs: 9 * minute, maintenance: [] };

  it("fails without an alert, and alerts at the end of the quiet", () => {
    const watched = watchOk();
    watched.change({ quiet });

    const failed = watched.at(7 * minute);
    const opened = watched.at(9 * minute);

    expect(failed).toMatchObject({ events: [], wakeAtMs: 9 * minute });
    expect(opened.events).toEqual([["opened", 9 * minute]]);
  });

  it("alerts at its end also when starts come at that moment", () => {
    const watched = watchOk();
    watched.change({ quiet });
    watched.at(7 * minute);

    const { events } = watched.at(9 * minute, { pings: [start(9 * minute)], absences: null });

    expect(events.length).toBe(1);
  });

  it("is decided at the end of the quiet while an alert is open, which may have to join channels", () => {
    const watched = watchOk();
    watched.at(7 * minute);
    watched.change({ quiet });

    expect(watched.at(8 * minute).wakeAtMs).toBe(9 * minute);
  });
});

describe("a heartbeat that depends on a check", () => {
  const dependent = { ...counts, dependsOn: [{ id: "api", kind: "api" as const }] };
  const failing = { isFailing: true, sinceMs: 0, nextRunMs: null, decidesByMs: null };
  const well = { ...failing, isFailing: false };

  it("is suppressed while that fails, asks again, and alerts once it does not", () => {
    const watched = watchOk(dependent);
    const suppressed = watched.at(7 * minute, { dependency: failing });
    const still = watched.at(8 * minute, { dependency: failing });

    const opened = watched.at(9 * minute, { dependency: well });

    expect(suppressed).toMatchObject({ events: [], wakeAtMs: 7 * minute + 30_000 });
    expect(suppressed.effects.suppressions).toMatchObject([{ by: "api", untilMs: null }]);
    expect(still.effects.suppressions).toEqual([]);
    expect(opened.events).toEqual([["opened", 9 * minute]]);
    expect(opened.effects.suppressions).toMatchObject([{ by: "api", untilMs: 9 * minute }]);
  });

  it("waits for the run that shows if that fails as well", () => {
    const watched = watchOk(dependent);
    const atMs = 7 * minute;
    const undecided = { ...well, nextRunMs: atMs + 5_000, decidesByMs: atMs + 10_000 };

    const pending = watched.at(atMs, { dependency: undecided });
    const opened = watched.at(atMs + 10_000, { dependency: well });

    expect(pending).toMatchObject({ events: [], wakeAtMs: atMs + 6_000 });
    expect(opened.events.length).toBe(1);
  });

  it("stays suppressed by a failure that it reported before that had recovered", () => {
    const watched = watchOk(dependent);
    watched.at(minute, { pings: [failure(minute)], dependency: failing });
    const recovered = { ...well, sinceMs: 2 * minute };

    const pings = [failure(2 * minute - 1)];
    const taken = watched.at(2 * minute + 1, { pings, dependency: recovered });

    expect(taken).toMatchObject({ events: [], wakeAtMs: 2 * minute + 1 + 30_000 });
  });
});

describe("a definition that changes", () => {
  it("moves the deadline", () => {
    const watched = watchOk();

    const { wakeAtMs } = watched.at(minute, { heartbeat: { ...counts, graceSeconds: 120 } });

    expect(wakeAtMs).toBe(7 * minute + slackMs);
  });

  it("to a cron alerts for nothing of before", () => {
    const watched = watchOk();
    const { periodSeconds: _, ...others } = counts;
    const daily = { ...others, schedule: { cron: "@daily", timezone: "UTC" } };

    const moved = watched.at(day + minute, { heartbeat: daily, lastPingAtMs: 2 * minute });
    const same = watched.at(day + 2 * minute, { heartbeat: daily, lastPingAtMs: 2 * minute });

    expect(moved).toMatchObject({ events: [], wakeAtMs: 2 * day + minute + slackMs });
    expect(same.wakeAtMs).toBe(moved.wakeAtMs);
  });

  it("that is removed ends the alert, and keeps the rest in case it is defined again", () => {
    const watched = watchOk();
    watched.at(7 * minute);

    const gone = watched.at(8 * minute, { heartbeat: undefined });
    const again = watched.at(9 * minute, { heartbeat: undefined });

    expect(gone.effects.transitions).toMatchObject([
      { kind: "resolved", endedBecause: "the check was removed" },
    ]);
    expect(gone.effects.orders.length).toBe(1);
    expect([gone.wakeAtMs, again.events]).toEqual([null, []]);
    expect(watched.state()?.episodes).toBe(1);
  });
});

describe("a heartbeat of a job of this program", () => {
  const ours = { ...counts, job: "count-keys" };
  const off = { ...ours, missingSettings: ["analytics.enabled"] };
  const byUs = { hasUrl: false };

  it("is expected without a ping URL", () => {
    expect(watch(ours).at(0, byUs).wakeAtMs).toBe(6 * minute + slackMs);
  });

  it("is paused while the job is off, and ends its alert by that", () => {
    const watched = watch(ours);
    watched.at(0, byUs);
    watched.at(7 * minute, byUs);

    const paused = watched.at(8 * minute, { ...byUs, heartbeat: off, pings: [success(8)] });

    expect(paused.effects.transitions).toMatchObject([
      { kind: "resolved", endedBecause: "the job that pings it is off" },
    ]);
    expect([paused.wakeAtMs, paused.results]).toEqual([null, []]);
    expect(watched.state()).toMatchObject({ status: "paused", episodes: 1, alert: null });
  });

  it("counts its time anew once the job is on, and its episodes on", () => {
    const watched = watch(off, { state: null });
    watched.at(0, byUs);
    const paused = watched.state()?.status;

    const begun = watched.at(day, { ...byUs, heartbeat: ours });

    expect(paused).toBe("paused");
    expect(begun.wakeAtMs).toBe(day + 6 * minute + slackMs);
    expect(watched.state()).toMatchObject({ status: "pending", createdAtMs: day });
  });

  it("is not paused while somebody has a ping URL", () => {
    const watched = watch(off);

    watched.at(0);

    expect(watched.state()?.status).toBe("pending");
  });

  it.each([
    ["the job that pings it is off", ours],
    ["it is no drill any more", { ...counts, drill: { graceSeconds: 5, channel: null } }],
  ] as const)("is paused when nobody pings it any more: %s", (endedBecause, before) => {
    const watched = watch(before);
    watched.at(0, byUs);
    watched.at(7 * minute, byUs);

    const { effects } = watched.at(8 * minute, { ...byUs, heartbeat: counts });

    expect(effects.transitions).toMatchObject([{ endedBecause }]);
    expect(watched.state()?.status).toBe("paused");
  });

  it("takes its first ping, by which its time begins", () => {
    const watched = watch(ours);

    watched.at(2 * minute, { ...byUs, pings: [success(minute)] });

    expect(watched.state()).toMatchObject({ createdAtMs: minute, lastPingAtMs: minute });
  });
});

describe("a heartbeat that another check depends on", () => {
  it("tells its deadline, by the last ping that came without a watch", () => {
    const watched = watchOk();

    expect(dependencyOfHeartbeat(watched.row(), counts, 3 * minute)).toMatchObject({
      isFailing: false,
      nextRunMs: 9 * minute,
    });
  });

  it("suppresses while it fails, and not when it is not defined, or paused", () => {
    const watched = watchOk();
    watched.at(7 * minute);
    const { state } = watched.row();
    const paused = state && { ...watched.row(), state: { ...state, status: "paused" as const } };

    const answers = [
      dependencyOfHeartbeat(watched.row(), counts, null),
      dependencyOfHeartbeat(watched.row(), undefined, null),
      dependencyOfHeartbeat(paused ?? watched.row(), counts, null),
    ];

    expect(answers.map(({ isFailing }) => isFailing)).toEqual([true, false, false]);
  });
});

const anyPings = fc.array(
  fc.record({
    waitMs: fc.integer({ min: 1, max: 500_000 }),
    kind: fc.constantFrom("success", "start", "fail", "none"),
  }),
  { maxLength: 30 },
);

/** The pings at their times, in decisions of so many. */
function play(pings: readonly { waitMs: number; kind: string }[], groupOf: number) {
  const watched = watch(counts);
  watched.at(0);
  let nowMs = 0;
  const timed = pings.map(({ waitMs, kind }) => {
    nowMs += waitMs;
    return kind === "none" ? null : ({ kind, atMs: nowMs, exitCode: null } as Ping);
  });
  const ids: string[] = [];
  for (let from = 0; from < timed.length; from += groupOf) {
    const group = timed.slice(from, from + groupOf).filter((ping) => ping !== null);
    const atMs = group.at(-1)?.atMs ?? watched.state()?.sinceMs ?? 0;
    const { effects } = watched.at(atMs, { pings: group });
    ids.push(...effects.transitions.map(({ eventId }) => eventId));
    expect(watched.at(atMs).effects.transitions).toEqual([]);
  }
  return { ids, state: watched.state() };
}

it("whatever pings come in whichever groups, alerts open and resolve in turn, and nothing is done twice", () => {
  fc.assert(
    fc.property(anyPings, fc.integer({ min: 1, max: 5 }), (pings, groupOf) => {
      const { ids } = play(pings, groupOf);

      expect(ids).toEqual(
        ids.map((_, i) => `counts:${Math.floor(i / 2) + 1}:${i % 2 === 0 ? "opened" : "resolved"}`),
      );
    }),
  );
});
