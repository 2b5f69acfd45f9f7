import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RolloutHistory } from "#rollout/contract.ts";
import { showRollout } from "#rollout/history/metrics.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const history = RolloutHistory.parse({
  rollouts: [
    {
      rollout_id: "r",
      image: "registry.example.com/team/app:v2",
      state: "in_progress",
      waiting_for: "soak",
      started_by: null,
      wave_percentages: [50, 100],
      current_wave: 1,
      total_waves: 2,
      total: 12,
      succeeded: 5,
      failed: 1,
      reverted: 0,
      left_out: 2,
      started_at: "2026-11-22T10:00:00.000Z",
      updated_at: "2026-11-22T10:00:00.000Z",
      ended_at: null,
    },
  ],
});

it("has the newest rollout's state, its wait and its counts", async () => {
  const registry = new Registry();
  const list = vi.fn(async () => history);
  showRollout({ list }, registry);

  const text = await registry.metrics();

  expect(text).toContain('vedette_rollout_state{state="in_progress"} 1');
  expect(text).toContain('vedette_rollout_state{state="paused"} 0');
  expect(text).toContain('vedette_rollout_waiting{for="soak"} 1');
  expect(text).toContain('vedette_rollout_waiting{for="gate"} 0');
  expect(text).toContain('vedette_rollout_sentinels{outcome="failed"} 1');
  expect(text).toContain('vedette_rollout_sentinels{outcome="left_out"} 2');
  expect(text).toContain('vedette_rollout_wave{which="current"} 1');
  expect(text).toContain('vedette_rollout_wave{which="total"} 2');
  expect(text).toContain('vedette_rollout_timestamp_seconds{event="started"} 1795341600');
  expect(text).not.toContain('event="ended"');
  expect(list).toHaveBeenCalledTimes(1);
});

it("has no values while history cannot be read, and costs the scrape no other metric", async () => {
  const registry = new Registry();
  showRollout({ list: () => new Promise<never>(() => {}) }, registry);
  const shown = vi.fn();

  void registry.metrics().then(shown);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(shown).toHaveBeenCalledWith(expect.not.stringContaining("vedette_rollout_state{"));
});
