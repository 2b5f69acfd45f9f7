import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { showChecks } from "#results/metrics.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("a database that hangs takes no other metrics along", async () => {
  const registry = new Registry();
  showChecks(() => new Promise<never>(() => {}), registry);
  const shown = vi.fn();

  void registry.metrics().then(shown);
  await vi.advanceTimersByTimeAsync(2_000);

  expect(shown).toHaveBeenCalledWith(expect.stringContaining("# TYPE vedette_check_state gauge"));
});
