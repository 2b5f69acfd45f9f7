import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { countRecords, exposeChecks } from "#monitor/results/metrics.ts";
import { anApiCheck } from "../../support/monitor/check-builders.ts";
import { always } from "../../support/monitor/standard-definitions.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a database that hangs does not cost other metrics", async () => {
  const registry = new Registry();
  exposeChecks(() => new Promise<never>(() => {}), registry);
  const shown = vi.fn();

  void registry.metrics().then(shown);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(shown).toHaveBeenCalledWith(expect.stringContaining("# TYPE vedette_check_state gauge"));
});

it("missed runs are counted from 0 on, so that the first ones are an increase", async () => {
  const registry = new Registry();
  countRecords(registry, always({ apiChecks: [anApiCheck({ id: "liveness" })] }));

  const text = await registry.getSingleMetricAsString("vedette_check_missed_ticks_total");

  expect(text).toContain('vedette_check_missed_ticks_total{check="liveness"} 0');
});
