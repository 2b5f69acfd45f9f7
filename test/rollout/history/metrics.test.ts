import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RolloutHistory } from "#rollout/contract.ts";
import { exposeRollouts } from "#rollout/history/metrics.ts";

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

it("the metrics have the state of each fleet's newest rollout, its wait and its counts", async () => {
  const registry = new Registry();
  const newest = vi.fn(async () => [
    ...history.rollouts.map((rollout) => ({ fleet: "singleton", ...rollout })),
    ...history.rollouts.map((rollout) => ({
      fleet: "staging",
      ...rollout,
      state: "paused" as const,
    })),
  ]);
  exposeRollouts({ newest }, { fleets: ["singleton", "staging"], registry });

  const text = await registry.metrics();

  expect(text).toContain('vedette_rollout_state{fleet="singleton",state="in_progress"} 1');
  expect(text).toContain('vedette_rollout_state{fleet="singleton",state="paused"} 0');
  expect(text).toContain('vedette_rollout_state{fleet="staging",state="paused"} 1');
  expect(text).toContain('vedette_rollout_waiting{fleet="singleton",for="soak"} 1');
  expect(text).toContain('vedette_rollout_waiting{fleet="singleton",for="gate"} 0');
  expect(text).toContain('vedette_rollout_sentinels{fleet="singleton",outcome="failed"} 1');
  expect(text).toContain('vedette_rollout_sentinels{fleet="singleton",outcome="left_out"} 2');
  expect(text).toContain('vedette_rollout_wave{fleet="singleton",which="current"} 1');
  expect(text).toContain('vedette_rollout_wave{fleet="singleton",which="total"} 2');
  expect(text).toContain(
    'vedette_rollout_timestamp_seconds{fleet="singleton",event="started"} 1795341600',
  );
  expect(text).not.toContain('event="ended"');
  expect(newest.mock.calls).toEqual([[["singleton", "staging"]]]);
});

it("the metrics have no values while history cannot be read, and cost the scrape no other metric", async () => {
  const registry = new Registry();
  exposeRollouts({ newest: () => new Promise<never>(() => {}) }, { fleets: [], registry });
  const shown = vi.fn();

  void registry.metrics().then(shown);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(shown).toHaveBeenCalledWith(expect.not.stringContaining("vedette_rollout_state{"));
});
