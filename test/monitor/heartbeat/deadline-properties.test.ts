/** What holds of every history of pings and timers. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { AlertTransition } from "#alerts/contract.ts";
import type { HeartbeatState } from "#monitor/contract.ts";
import { dueAtMs, expire, newHeartbeatState, takePing } from "#monitor/rules/deadline.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const heartbeat = aHeartbeat({ periodSeconds: 300, graceSeconds: 60 });

const step = fc.record({
  // A success of the same millisecond as another is the same ping, received twice.
  waitMs: fc.integer({ min: 1, max: 1_000_000 }),
  kind: fc.constantFrom("success", "start", "fail", "timer"),
  isQuiet: fc.boolean(),
});

type Step = { waitMs: number; kind: "success" | "start" | "fail" | "timer"; isQuiet: boolean };

function play(steps: readonly Step[]) {
  let state = newHeartbeatState(0);
  let nowMs = 0;
  const log: { state: HeartbeatState; nowMs: number; step: Step; event: AlertTransition | null }[] =
    [];
  for (const step of steps) {
    nowMs += step.waitMs;
    const around = { isQuiet: step.isQuiet, rollout: null };
    const exit = step.kind === "fail" ? { exitCode: null } : {};
    const ping = { kind: step.kind, atMs: nowMs, ...exit } as Parameters<
      typeof takePing
    >[2]["ping"];
    const { state: after, transition: event } =
      step.kind === "timer"
        ? expire(heartbeat, state, { nowMs, away: null, ...around })
        : takePing(heartbeat, state, { ping, ...around });
    state = after;
    log.push({ state, nowMs, step, event });
  }
  return log;
}

const steps = fc.array(step, { maxLength: 60 });

it("alerts open and resolve in exact alternation, numbered from 1", () => {
  fc.assert(
    fc.property(steps, (of) => {
      const ids = play(of).flatMap(({ event }) => (event === null ? [] : [event.eventId]));

      expect(ids).toEqual(
        ids.map(
          (_, i) =>
            `${heartbeat.id}:${Math.floor(i / 2) + 1}:${i % 2 === 0 ? "opened" : "resolved"}`,
        ),
      );
    }),
  );
});

it("only a success resolves, and after one nothing is open", () => {
  fc.assert(
    fc.property(steps, (of) => {
      for (const { event, step, state } of play(of)) {
        if (event?.kind === "resolved") expect(step.kind).toBe("success");
        if (step.kind === "success") expect(state).toMatchObject({ alert: null, status: "ok" });
      }
    }),
  );
});

it("no deadline alerts before the last ping + period + grace, a run that began aside", () => {
  fc.assert(
    fc.property(steps, (of) => {
      const plain = of.filter(({ kind }) => kind === "success" || kind === "timer");
      for (const { event, state, nowMs } of play(plain)) {
        if (event?.kind !== "opened") continue;
        expect(nowMs).toBeGreaterThanOrEqual((state.lastPingAtMs ?? 0) + 360_000);
      }
    }),
  );
});

it("a timer that is on time always alerts when it is not quiet", () => {
  fc.assert(
    fc.property(steps, (of) => {
      const last = play(of).at(-1);
      const state = last?.state ?? newHeartbeatState(0);
      fc.pre(state.alert === null);
      const nowMs = Math.max(dueAtMs(heartbeat, state), last?.nowMs ?? 0);
      fc.pre(nowMs - dueAtMs(heartbeat, state) < 60_000);

      const { transition } = expire(heartbeat, state, {
        nowMs,
        away: null,
        isQuiet: false,
        rollout: null,
      });

      expect(transition?.kind).toBe("opened");
    }),
  );
});
