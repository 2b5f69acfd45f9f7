import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { countAttempts, exposeEvents } from "#alerts/services.ts";
import { buildOrder } from "../support/alerts/alert-builders.ts";

const names = /^(vedette_alert\w+)(?:\{[^}]*\})? (\S+)$/gm;

const valuesOf = async (registry: Registry) =>
  Object.fromEntries([...(await registry.metrics()).matchAll(names)].map(([, n, v]) => [n, v]));

describe("exposeEvents", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("shows pending events, their age and dead letters by a single query", async () => {
    const registry = new Registry();
    const count = vi.fn(async () => ({
      pending: 3,
      dead: 2,
      oldestPendingSeconds: 61.5,
      tokenRefused: 1,
    }));
    exposeEvents(count, registry);

    const values = await valuesOf(registry);

    expect(values).toEqual({
      vedette_alert_events_pending: "3",
      vedette_alert_events_oldest_pending_seconds: "61.5",
      vedette_alert_events_token_refused: "1",
      vedette_alert_dead_letters: "2",
    });
    expect(count).toHaveBeenCalledTimes(1);
  });

  it("shows nothing rather than zeros when the database is away", async () => {
    const registry = new Registry();
    exposeEvents(() => Promise.reject(new Error("away")), registry);

    expect(await valuesOf(registry)).toEqual({});
  });

  it("does not wait for a database that hangs, and queries it again the next time", async () => {
    const registry = new Registry();
    const count = vi.fn(() => new Promise<never>(() => {}));
    exposeEvents(count, registry);

    const values = valuesOf(registry);
    await vi.advanceTimersByTimeAsync(2_000);

    expect(await values).toEqual({});
    const again = valuesOf(registry);
    await vi.advanceTimersByTimeAsync(2_000);
    await again;
    expect(count).toHaveBeenCalledTimes(2);
  });
});

describe("countAttempts", () => {
  it("counts attempts by channel and outcome, and passes the outcome on", async () => {
    const registry = new Registry();
    const attempt = countAttempts(async () => ({ kind: "refused", cause: "status 403" }), registry);

    const outcome = await attempt(buildOrder());

    expect(outcome).toEqual({ kind: "refused", cause: "status 403" });
    expect(await registry.metrics()).toContain(
      'vedette_alert_attempts_total{channel="production",outcome="refused"} 1',
    );
  });
});
