import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findAbsences, findAway, type ListeningSpan } from "#monitor/rules/absences.ts";
import { expire, newHeartbeatState, takePing } from "#monitor/rules/deadline.ts";
import { aHeartbeat } from "../../support/monitor/check-builders.ts";

const second = 1_000;

function listened(fromS: number, toS: number, hasLeft = false): ListeningSpan {
  return { fromMs: fromS * second, toMs: toS * second, hasLeft };
}

const at = (listening: ListeningSpan[], nowS: number) => findAbsences(listening, nowS * second);
const nothing = { spans: [], isDoubtful: false };

describe("an absence", () => {
  it("does not exist before a process has ever listened", () => {
    expect(at([], 100)).toEqual(nothing);
  });

  it("does not exist while a process extends its span", () => {
    expect(at([listened(0, 100)], 102)).toEqual(nothing);
  });

  it("is doubtful while an extension is late", () => {
    expect(at([listened(0, 100)], 120)).toEqual({ spans: [], isDoubtful: true });
  });

  it("does not exist after a late extension", () => {
    expect(at([listened(0, 120)], 121)).toEqual(nothing);
  });

  it("begins with the last extension when none follows for long", () => {
    const span = { fromMs: 100 * second, toMs: 131 * second, isOver: false };

    expect(at([listened(0, 100)], 131)).toEqual({ spans: [span], isDoubtful: false });
  });

  it("begins at once when the process has left", () => {
    const span = { fromMs: 100 * second, toMs: 101 * second, isOver: false };

    expect(at([listened(0, 100, true)], 101)).toEqual({ spans: [span], isDoubtful: false });
  });

  it("lies between one process and the next", () => {
    const span = { fromMs: 100 * second, toMs: 103 * second, isOver: true };

    expect(at([listened(103, 200), listened(0, 100)], 201).spans).toEqual([span]);
  });

  it("does not exist when the next process came before the earlier one left", () => {
    expect(at([listened(0, 100, true), listened(95, 200)], 201)).toEqual(nothing);
  });

  it("does not exist while one of two processes is busy or killed", () => {
    expect(at([listened(0, 100), listened(0, 199)], 200)).toEqual(nothing);
  });

  it("never overlaps a span in which a process listened, and is in chronological order", () => {
    const span = fc.record({
      fromMs: fc.integer({ min: 0, max: 500_000 }),
      lengthMs: fc.nat(100_000),
      hasLeft: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 12 }), (given) => {
        const listening = given.map(({ fromMs, lengthMs, hasLeft }) => ({
          fromMs,
          toMs: fromMs + lengthMs,
          hasLeft,
        }));

        const { spans } = findAbsences(listening, 700_000);

        spans.forEach(({ fromMs, toMs }, i) => {
          expect(listening.some((one) => one.fromMs < toMs && one.toMs > fromMs)).toBe(false);
          expect(fromMs).toBeGreaterThanOrEqual(spans[i - 1]?.toMs ?? 0);
        });
      }),
    );
  });
});

describe("a deadline", () => {
  // Every ten minutes, thirty seconds of grace.
  const heartbeat = aHeartbeat({ periodSeconds: 600, graceSeconds: 30 });
  const loud = { isQuiet: false, rollout: null };
  const state = takePing(heartbeat, newHeartbeatState(0), {
    ping: { kind: "success", atMs: 0 },
    ...loud,
  }).state;
  const expireAt = (listening: ListeningSpan[], nowS: number) => {
    const { spans } = at(listening, nowS);
    return expire(heartbeat, state, {
      nowMs: nowS * second,
      away: findAway(spans, 630 * second),
      ...loud,
    });
  };

  it("is not held by late extensions while pings were taken", () => {
    expect(expireAt([listened(0, 629)], 630).transition?.kind).toBe("opened");
    expect(expireAt([listened(0, 615)], 640).transition?.kind).toBe("opened");
  });

  it("is held for a grace period from the end of the absence", () => {
    const { state: held } = expireAt([listened(0, 605), listened(615, 629)], 630);

    expect(held.held?.untilMs).toBe(645 * second);
  });

  it("is held for an absence before it although another one followed", () => {
    const spans = [listened(0, 605), listened(635, 640), listened(643, 650)];

    expect(expireAt(spans, 651).state.held?.untilMs).toBe(665 * second);
  });

  it("is not held for an absence in which no ping was due", () => {
    expect(expireAt([listened(0, 500), listened(590, 629)], 630).transition?.kind).toBe("opened");
  });
});
