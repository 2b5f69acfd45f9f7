import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { watchDeadlines } from "#monitor/heartbeat/deadline-watch.ts";
import type { PassedDeadlines } from "#monitor/rules/deadline.ts";

const log = createLog({ level: "silent", format: "json" });

const passed: PassedDeadlines = {
  overdue: [{ id: "nightly", lastPingAtMs: 1_000, away: null }],
  atMs: 61_000,
  lease: new Date(66_000),
};

type Given = { found?: (PassedDeadlines | null)[]; nextMs?: number | null; faults?: Error[] };

/** Polls once for each entry of `found`, at least once, and stops. */
async function runWatch({ found = [null], nextMs = null, faults = [] }: Given) {
  const postponed: PassedDeadlines[] = [];
  const messages: unknown[] = [];
  const pauses: number[] = [];
  const done = Promise.withResolvers<void>();
  const watch = watchDeadlines({
    deadlines: {
      correct: async () => {},
      findPassed: async () => found.shift() ?? null,
      postpone: async (of) => void postponed.push(of),
      next: async () => nextMs,
    },
    send: async (message) => {
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      messages.push(message);
    },
    log,
    pause: async (ms, _, { signal }) => {
      pauses.push(ms);
      if (found.length > 0) return;
      done.resolve();
      await once(signal, "abort");
    },
  });
  await done.promise;
  await watch.stop();
  return { postponed, messages, pauses };
}

describe("the watch over deadlines", () => {
  it("postpones a deadline once Restate has accepted the call", async () => {
    const { postponed, messages } = await runWatch({ found: [passed] });

    const { overdue, atMs } = passed;
    expect(messages).toEqual([{ overdue, atMs }]);
    expect(postponed).toEqual([passed]);
  });

  it("postpones nothing that Restate did not accept, and polls again after a second", async () => {
    const { postponed, messages, pauses } = await runWatch({
      found: [passed, passed],
      faults: [new Error("away")],
    });

    expect(messages.length).toBe(1);
    expect(postponed.length).toBe(1);
    expect(pauses).toEqual([1_000, 1_000]);
  });

  it.each([
    { nextMs: 400, pauseMs: 400, why: "at the next deadline" },
    { nextMs: null, pauseMs: 1_000, why: "after a second when none is known" },
    { nextMs: 86_400_000, pauseMs: 1_000, why: "after a second when the next is far away" },
    { nextMs: -5, pauseMs: 50, why: "a moment later when one has passed just now" },
  ])("looks again $why", async ({ nextMs, pauseMs }) => {
    expect((await runWatch({ nextMs })).pauses).toEqual([pauseMs]);
  });
});
