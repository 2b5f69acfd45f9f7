import { describe, expect, it } from "vitest";
import type { HeartbeatState, Ping } from "#monitor/contract.ts";
import {
  dueAtMs,
  expire,
  newHeartbeatState,
  statusAt,
  takePing,
  wakeAtMs,
} from "#monitor/rules/deadline.ts";
import { notQuiet } from "#monitor/rules/quiet.ts";
import { setRight } from "#monitor/state/evaluate-heartbeat.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const minute = 60_000;
/** Every five minutes, one minute of grace: due at 6, 11, 16 … after the last ping. */
const heartbeat = aHeartbeat({ id: "count-keys", periodSeconds: 300, graceSeconds: 60 });
const loud = { isQuiet: false, rollout: null };
const asleep = { isQuiet: true, rollout: null };

const at = (ms: number) => ({ nowMs: ms, away: null, ...loud });

function pinged(...pings: Ping[]): HeartbeatState {
  return pings.reduce(
    (state, ping) => takePing(heartbeat, state, { ping, ...loud }).state,
    newHeartbeatState(0),
  );
}

const success = (atMs: number): Ping => ({ kind: "success", atMs });
const start = (atMs: number): Ping => ({ kind: "start", atMs });
const failure = (atMs: number, exitCode: number | null = null): Ping => ({
  kind: "fail",
  atMs,
  exitCode,
});

describe("the deadline", () => {
  it("is creation + period + grace before the first ping", () => {
    expect(dueAtMs(heartbeat, newHeartbeatState(0))).toBe(6 * minute);
  });

  it("is the last ping + period + grace after it", () => {
    expect(dueAtMs(heartbeat, pinged(success(minute)))).toBe(7 * minute);
  });

  it("passes to the millisecond", () => {
    const state = pinged(success(0));

    expect(expire(heartbeat, state, at(6 * minute - 1)).transition).toBeNull();
    expect(expire(heartbeat, state, at(6 * minute)).transition?.kind).toBe("opened");
  });

  it("alerts a heartbeat that never pinged, and says so", () => {
    const { transition } = expire(heartbeat, newHeartbeatState(0), at(6 * minute));

    expect(transition).toMatchObject({
      eventId: "count-keys:1:opened",
      reason: "never pinged since 1970-01-01 00:00:00 UTC (period 5 min, grace 60 s)",
    });
  });

  it("alerts once", () => {
    const { state } = expire(heartbeat, newHeartbeatState(0), at(6 * minute));

    expect(expire(heartbeat, state, at(7 * minute))).toEqual({ state, transition: null });
  });

  it("is what the timer is set to, and nothing is once the alert is open", () => {
    const state = pinged(success(0));
    const open = expire(heartbeat, state, at(6 * minute)).state;
    const now = { quiet: notQuiet, nowMs: minute, isDoubtful: false };

    // Until then a ping that met it may wait to be stored.
    expect(wakeAtMs(heartbeat, state, now)).toBe(6 * minute + 120);
    expect(wakeAtMs(heartbeat, open, now)).toBeNull();
  });

  it("shows late within the grace", () => {
    const heard = { status: "ok" as const, heardAtMs: 0 };

    expect([5 * minute, 5 * minute + 1].map((ms) => statusAt(heartbeat, heard, ms))).toEqual([
      "ok",
      "late",
    ]);
  });
});

describe("a ping", () => {
  it.each([
    ["counts", 1],
    ["counts", minute],
    ["does not count", minute + 1],
  ])("of a run that ended before the first state %s: %i ms", (words, beforeMs) => {
    const state = newHeartbeatState(2 * minute);
    const ping = success(2 * minute - beforeMs);

    const first = takePing(heartbeat, state, { ping, ...loud }).state;
    const again = takePing(heartbeat, first, { ping, ...loud }).state;

    const counted = { ...state, status: "ok", lastPingAtMs: 2 * minute };
    expect(first).toEqual(words === "counts" ? expect.objectContaining(counted) : state);
    expect(again).toEqual(first);
  });

  it("moves the deadline", () => {
    const state = pinged(success(0), success(5 * minute));

    expect(expire(heartbeat, state, at(6 * minute)).transition).toBeNull();
  });

  it("resolves an open alert and counts the missed pings", () => {
    const open = expire(heartbeat, pinged(success(0)), at(6 * minute)).state;

    const { state, transition } = takePing(heartbeat, open, {
      ping: success(17 * minute),
      ...loud,
    });

    expect(transition).toMatchObject({ kind: "resolved", episode: 1, missedPings: 3 });
    expect(state).toMatchObject({ status: "ok", alert: null });
  });

  it("that is older than the last one changes nothing", () => {
    const state = pinged(success(5 * minute));

    expect(takePing(heartbeat, state, { ping: success(4 * minute), ...loud }).state).toBe(state);
  });

  it("that is delivered twice ends no failure in between", () => {
    const { state } = takePing(heartbeat, pinged(success(minute)), {
      ping: failure(2 * minute),
      ...loud,
    });

    expect(takePing(heartbeat, state, { ping: success(minute), ...loud }).transition).toBeNull();
  });

  it("that comes twice counts once", () => {
    expect(pinged(success(minute), success(minute))).toEqual(pinged(success(minute)));
  });
});

describe("/start", () => {
  it("measures the run", () => {
    expect(pinged(start(minute), success(minute + 4_200)).lastDurationMs).toBe(4_200);
  });

  it("is not ended by a delayed ping from before it", () => {
    const state = pinged(start(3 * minute), success(2 * minute));

    expect(state).toMatchObject({ startedAtMs: 3 * minute, lastPingAtMs: 2 * minute });
    expect(state.lastDurationMs).toBeNull();
  });

  it("is ended by a later ping of a process whose clock is slightly behind", () => {
    const state = pinged(start(3 * minute), success(3 * minute - 10));

    expect(state).toMatchObject({ startedAtMs: null, lastDurationMs: 0 });
  });

  it("limits the run to the grace", () => {
    const state = pinged(success(0), start(minute));

    expect(dueAtMs(heartbeat, state)).toBe(2 * minute);
    expect(expire(heartbeat, state, at(2 * minute)).transition?.reason).toContain("has not ended");
  });

  it("does not postpone the deadline", () => {
    expect(dueAtMs(heartbeat, pinged(success(0), start(5.5 * minute)))).toBe(6 * minute);
  });

  it("does not resolve an alert", () => {
    const open = expire(heartbeat, pinged(success(0)), at(6 * minute)).state;

    expect(takePing(heartbeat, open, { ping: start(7 * minute), ...loud }).transition).toBeNull();
  });
});

describe("/fail", () => {
  it("alerts at once, with the exit code", () => {
    const { transition, state } = takePing(heartbeat, pinged(success(0)), {
      ping: failure(minute, 3),
      ...loud,
    });

    expect(transition).toMatchObject({
      kind: "opened",
      reason: "the job said that it failed (exit code 3)",
    });
    expect(state.status).toBe("failed");
  });

  it("resolves with the next success, with no ping missed", () => {
    const failed = pinged(success(0), failure(minute));

    const { transition } = takePing(heartbeat, failed, { ping: success(2 * minute), ...loud });

    expect(transition).toMatchObject({ kind: "resolved", missedPings: 0 });
  });

  it("twice is one alert", () => {
    expect(pinged(failure(minute), failure(2 * minute)).episodes).toBe(1);
  });
});

describe("after the monitor was away", () => {
  const span = (fromMs: number, toMs: number, isOver = true) => ({ fromMs, toMs, isOver });

  const back = { ...at(10 * minute), away: span(6 * minute, 10 * minute) };

  it("a deadline that passed meanwhile is held for the grace period", () => {
    const late = expire(heartbeat, pinged(success(0)), back);

    expect(late.transition).toBeNull();
    expect(dueAtMs(heartbeat, late.state)).toBe(11 * minute);
  });

  it("it alerts when no ping came during the hold, and says that it was away", () => {
    const { state } = expire(heartbeat, pinged(success(0)), back);

    const { transition } = expire(heartbeat, state, { ...back, nowMs: 11 * minute });

    expect(transition?.reason).toContain(
      "the monitor was away 1970-01-01 00:06:00 UTC to 1970-01-01 00:10:00 UTC and waited for the grace period again",
    );
  });

  it("a ping during the hold ends it", () => {
    const { state } = expire(heartbeat, pinged(success(0)), back);

    const after = takePing(heartbeat, state, { ping: success(10.5 * minute), ...loud });

    expect(after.transition).toBeNull();
    expect(dueAtMs(heartbeat, after.state)).toBe(16.5 * minute);
  });

  it("an absence that ended shortly before the deadline causes a hold too", () => {
    const now = { ...at(6 * minute), away: span(5 * minute, 5.5 * minute) };

    const { state, transition } = expire(heartbeat, pinged(success(0)), now);

    expect(transition).toBeNull();
    expect(dueAtMs(heartbeat, state)).toBe(6.5 * minute);
  });

  it("an absence that ended a grace period ago causes no hold", () => {
    const now = { ...at(6 * minute), away: span(minute, 5 * minute) };

    expect(expire(heartbeat, pinged(success(0)), now).transition?.kind).toBe("opened");
  });

  it("another absence over the end of the hold causes another one", () => {
    const { state } = expire(heartbeat, pinged(success(0)), back);

    const again = expire(heartbeat, state, {
      ...at(20 * minute),
      away: span(10.5 * minute, 20 * minute),
    });

    expect(again.transition).toBeNull();
    expect(dueAtMs(heartbeat, again.state)).toBe(21 * minute);
  });

  it("an absence that does not end causes one hold, and then an alert", () => {
    const first = { ...at(6 * minute), away: span(5 * minute, 6 * minute, false) };
    const { state, transition } = expire(heartbeat, pinged(success(0)), first);

    const then = { ...at(7 * minute), away: span(5 * minute, 7 * minute, false) };
    const after = expire(heartbeat, state, then);

    expect(transition).toBeNull();
    expect(after.transition?.kind).toBe("opened");
  });

  it("an absence that ends just before the end of the hold causes another one", () => {
    const first = { ...at(6 * minute), away: span(5 * minute, 6 * minute, false) };
    const { state } = expire(heartbeat, pinged(success(0)), first);

    const then = { ...at(7 * minute), away: span(5 * minute, 6.9 * minute) };
    const after = expire(heartbeat, state, then);

    expect(after.transition).toBeNull();
    expect(dueAtMs(heartbeat, after.state)).toBe(7.9 * minute);
  });

  it("repeated absences do not suppress an alert for ever", () => {
    let state = pinged(success(0));
    let holds = 0;
    for (
      let nowMs = 6 * minute;
      state.alert === null && holds < 20;
      nowMs = state.held?.untilMs ?? 0
    ) {
      const now = { ...at(nowMs), away: span(nowMs - 30_000, nowMs - 20_000) };
      state = expire(heartbeat, state, now).state;
      holds += state.alert === null ? 1 : 0;
    }

    expect(holds).toBe(5);
  });

  it.each([30_000, 10 * minute])(
    "an alarm that is %i ms late is no absence while pings were taken",
    (lateMs) => {
      const now = at(6 * minute + lateMs);

      expect(expire(heartbeat, pinged(success(0)), now).transition?.kind).toBe("opened");
    },
  );

  it("an absence after the deadline causes no hold", () => {
    const now = { ...at(7 * minute), away: span(6.1 * minute, 6.9 * minute) };

    expect(expire(heartbeat, pinged(success(0)), now).transition?.kind).toBe("opened");
  });
});

describe("after a clock was ahead", () => {
  const day = 24 * 60 * minute;
  const clock = { nowMs: 20 * minute, fromMs: 19 * minute };

  it("a ping in the future counts from now", () => {
    const state = setRight(heartbeat, pinged(success(day)), clock);

    expect(dueAtMs(heartbeat, state)).toBe(25 * minute);
  });

  it("one that never pinged counts from now", () => {
    expect(dueAtMs(heartbeat, setRight(heartbeat, newHeartbeatState(day), clock))).toBe(
      25 * minute,
    );
  });

  it("a start in the future is dropped", () => {
    const state = setRight(heartbeat, pinged(success(18 * minute), start(day)), clock);

    expect(state).toMatchObject({ startedAtMs: null, lastPingAtMs: 18 * minute });
  });

  it("a hold for an absence in the future is dropped", () => {
    const held = { untilMs: day + minute, awayFromMs: day, awayToMs: day, times: 1 };

    expect(setRight(heartbeat, { ...pinged(success(0)), held }, clock).held).toBeNull();
  });

  it("a clock that is slightly behind changes nothing", () => {
    const state = pinged(success(25 * minute), start(26 * minute));

    expect(setRight(heartbeat, state, clock)).toBe(state);
  });
});

describe("quiet", () => {
  const quiet = { mutedUntilMs: 8 * minute, maintenance: [] };

  it("a deadline that passes shows as failed and alerts nobody", () => {
    const now = { nowMs: 6 * minute, away: null, ...asleep };

    const { state, transition } = expire(heartbeat, pinged(success(0)), now);

    expect(transition).toBeNull();
    expect(state).toMatchObject({ status: "failed", alert: null });
    expect(wakeAtMs(heartbeat, state, { quiet, nowMs: 6 * minute, isDoubtful: false })).toBe(
      8 * minute,
    );
  });

  it("alerts at its end when there is still no ping", () => {
    const now = { nowMs: 6 * minute, away: null, ...asleep };
    const { state } = expire(heartbeat, pinged(success(0)), now);

    const { transition } = expire(heartbeat, state, at(8 * minute));

    expect(transition).toMatchObject({ kind: "opened", openedAtMs: 8 * minute });
  });

  it("an alert that is open resolves with a ping", () => {
    const open = expire(heartbeat, pinged(success(0)), at(6 * minute)).state;

    const { transition } = takePing(heartbeat, open, { ping: success(7 * minute), ...asleep });

    expect(transition?.kind).toBe("resolved");
  });

  it("a failure reported meanwhile alerts at its end", () => {
    const { state } = takePing(heartbeat, pinged(success(0)), { ping: failure(minute), ...asleep });

    const { transition } = expire(heartbeat, state, at(2 * minute));

    expect(transition?.reason).toBe("the job said that it failed while alerts were off");
  });
});
