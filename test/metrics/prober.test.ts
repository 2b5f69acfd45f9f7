import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { createProber, type Dependency } from "#metrics/prober.ts";

const log = createLog({ level: "silent", format: "json" });

async function probeOnce(dependency: Dependency): Promise<string> {
  const registry = new Registry();
  const prober = createProber({ registry, log, timeoutMs: 20, intervalMs: 60_000 });
  const { probe, stop } = prober.watch(dependency);
  await probe();
  stop();
  return registry.metrics();
}

it("the metric is 1 for a dependency that answers", async () => {
  const text = await probeOnce({ name: "postgres", ask: async () => "here" });

  expect(text).toContain('vedette_dependency_up{dependency="postgres"} 1');
});

it("the metric is 0 for a dependency that fails", async () => {
  const ask = async () => {
    throw new Error("refused");
  };

  const text = await probeOnce({ name: "redis", ask });

  expect(text).toContain('vedette_dependency_up{dependency="redis"} 0');
});

it("the metric is 0 for a dependency that does not answer in time", async () => {
  const ask = () => new Promise(() => {});

  const text = await probeOnce({ name: "clickhouse", ask });

  expect(text).toContain('vedette_dependency_up{dependency="clickhouse"} 0');
});

it("polls a dependency only once at a time", async () => {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  const prober = createProber({ registry: new Registry(), log, intervalMs: 60_000 });

  const { probe, stop } = prober.watch({ name: "postgres", ask });
  await Promise.all([probe(), probe()]);
  stop();

  expect(asked).toBe(1);
});

it("the prober reports the states of watched dependencies", async () => {
  const prober = createProber({ registry: new Registry(), log, intervalMs: 60_000 });
  const away = async () => {
    throw new Error("refused");
  };

  const postgres = prober.watch({ name: "postgres", ask: async () => {} });
  const restate = prober.watch({ name: "restate", ask: away });
  const before = prober.states();
  await Promise.all([postgres.probe(), restate.probe()]);
  const polled = prober.states();
  postgres.stop();
  restate.stop();

  expect(before).toEqual({});
  expect(polled).toEqual({ postgres: "up", restate: "down" });
  expect(prober.states()).toEqual({});
});

it("the prober does not call a dependency down that fails because the program stops", async () => {
  const registry = new Registry();
  const prober = createProber({ registry, log, intervalMs: 60_000 });
  const closing = Promise.withResolvers<void>();

  const { probe, stop } = prober.watch({ name: "postgres", ask: () => closing.promise });
  stop();
  closing.reject(new Error("the pool has ended"));
  await probe();

  expect(prober.states()).toEqual({});
  expect(await registry.metrics()).not.toContain('dependency="postgres"');
});
