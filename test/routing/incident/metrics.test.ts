import { Registry } from "prom-client";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createShowDrift } from "#routing/incident/metrics.ts";

const minute = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const report = {
  state: "drifted",
  checked_at: "2026-01-01T00:00:00.000Z",
  routes: [{ name: "Pages" }],
} as unknown as Parameters<ReturnType<typeof createShowDrift>>[0];

async function drifted(registry: Registry): Promise<string[]> {
  const text = await registry.getSingleMetricAsString("vedette_alert_routes_drifted");
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}

it("values are removed after two intervals without a check: another process checks then", async () => {
  const registry = new Registry();
  const showDrift = createShowDrift(registry, 10 * minute);

  showDrift(report);
  vi.advanceTimersByTime(15 * minute);
  const before = await drifted(registry);
  vi.advanceTimersByTime(6 * minute);

  expect(before).toEqual(["vedette_alert_routes_drifted 1"]);
  expect(await drifted(registry)).toEqual([]);
});

it("values come back with the next check", async () => {
  const registry = new Registry();
  const showDrift = createShowDrift(registry, 10 * minute);
  vi.advanceTimersByTime(30 * minute);
  await drifted(registry);

  showDrift(report);

  expect(await drifted(registry)).toEqual(["vedette_alert_routes_drifted 1"]);
});
