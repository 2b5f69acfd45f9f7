import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createPacer, type Pace } from "#alerts/channels/send.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const everySecond: Pace = { spacingMs: 1_000, burst: 1, atOnce: 100 };

/** When each of `count` callers, all at once, gets its turn, or is to come back. */
async function askAtOnce(count: number, pace: Pace) {
  const pacer = createPacer(Date.now);
  const beganAtMs = Date.now();
  const asked = Array.from({ length: count }, async () => {
    const turn = await pacer.take("chat", pace);
    return "afterMs" in turn ? { afterMs: turn.afterMs } : { atMs: Date.now() - beganAtMs };
  });
  await vi.advanceTimersByTimeAsync(60_000);
  return Promise.all(asked);
}

describe("a pacer", () => {
  it("spaces what it lets through, and sends the rest back with a moment each", async () => {
    const turns = await askAtOnce(7, everySecond);

    expect(turns).toEqual([
      { atMs: 0 },
      { atMs: 1_000 },
      { atMs: 2_000 },
      { atMs: 3_000 },
      { afterMs: 4_000 },
      { afterMs: 5_000 },
      { afterMs: 6_000 },
    ]);
  });

  it("lets a burst through at once", async () => {
    const turns = await askAtOnce(4, { ...everySecond, burst: 3 });

    expect(turns).toEqual([{ atMs: 0 }, { atMs: 0 }, { atMs: 0 }, { atMs: 1_000 }]);
  });

  it("sends back what finds no place among those that run, after three seconds", async () => {
    const turns = await askAtOnce(3, { spacingMs: 0, burst: 1, atOnce: 2 });

    expect(turns).toEqual([{ atMs: 0 }, { atMs: 0 }, { afterMs: 3_000 }]);
  });

  it("gives a place that becomes free to the one that waits", async () => {
    const pacer = createPacer(Date.now);
    const pace = { spacingMs: 0, burst: 1, atOnce: 1 };
    const first = await pacer.take("chat", pace);
    const second = pacer.take("chat", pace);

    if ("release" in first) first.release();

    expect(await second).toHaveProperty("release");
  });

  it("sends nothing while a destination has asked to wait, and holds up no other", async () => {
    const pacer = createPacer(Date.now);
    pacer.hold("chat", 20_000);

    expect(await pacer.take("chat", everySecond)).toEqual({ afterMs: 20_000 });
    expect(await pacer.take("other", everySecond)).toHaveProperty("release");
  });

  it("does not believe a destination that asks for days", async () => {
    const pacer = createPacer(Date.now);
    pacer.hold("chat", 86_400_000);

    expect(await pacer.take("chat", everySecond)).toEqual({ afterMs: 60_000 });
  });
});
