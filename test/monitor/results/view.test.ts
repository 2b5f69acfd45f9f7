import { expect, it, vi } from "vitest";
import type { Database } from "#kernel/database.ts";
import type { Definitions } from "#monitor/contract.ts";
import { createViewChecks } from "#monitor/results/view.ts";

/** Reads that end when they are told to, under a clock that is set. */
function view() {
  const clock = { nowMs: Date.UTC(2026, 0, 1) };
  const open: PromiseWithResolvers<Definitions>[] = [];
  const readDefinitions = vi.fn(() => {
    open.push(Promise.withResolvers());
    return (open.at(-1) as (typeof open)[number]).promise;
  });
  const viewChecks = createViewChecks({
    database: { query: async () => ({ rows: [] }) } as unknown as Database,
    readDefinitions,
    whyOff: () => [],
    failedAtPercent: 0,
    nowMs: () => clock.nowMs,
  });
  return {
    viewChecks,
    reads: readDefinitions,
    clock,
    endRead: () => open.at(-1)?.resolve({ apiChecks: [], heartbeats: [], channels: [] }),
  };
}

it("concurrent callers share a read in progress", async () => {
  const { viewChecks, reads, clock, endRead } = view();

  const first = viewChecks();
  clock.nowMs += 60_000;
  const second = viewChecks();
  endRead();

  expect(await second).toBe(await first);
  expect(reads).toHaveBeenCalledTimes(1);
});

it("a list is cached for two seconds", async () => {
  const { viewChecks, reads, clock, endRead } = view();
  const first = viewChecks();
  endRead();
  await first;

  clock.nowMs += 1_999;
  const second = viewChecks();
  clock.nowMs += 1;
  void viewChecks();

  expect(second).toBe(first);
  expect(reads).toHaveBeenCalledTimes(2);
});

it("a clock that is set back does not keep the cache for ever", async () => {
  const { viewChecks, reads, clock, endRead } = view();
  const first = viewChecks();
  endRead();
  await first;

  clock.nowMs -= 3_600_000;
  void viewChecks();

  expect(reads).toHaveBeenCalledTimes(2);
});

it("a list that took longer than two seconds to read is cached too", async () => {
  const { viewChecks, reads, clock, endRead } = view();
  const first = viewChecks();
  clock.nowMs += 6_000;
  endRead();
  await first;

  clock.nowMs += 1_000;
  const second = viewChecks();

  expect(second).toBe(first);
  expect(reads).toHaveBeenCalledTimes(1);
});
