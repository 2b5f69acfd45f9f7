import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { type Dependency, startProber } from "#metrics/prober.ts";

const log = createLog({ level: "silent", format: "json" });

async function probeOnce(dependency: Dependency): Promise<string> {
  const registry = new Registry();
  const settings = { registry, dependencies: [dependency], log, timeoutMs: 20 };
  const prober = startProber({ ...settings, intervalMs: 60_000 });
  await prober.probe();
  prober.stop();
  return registry.metrics();
}

it("says 1 of a dependency that answers", async () => {
  const text = await probeOnce({ name: "postgres", ask: async () => "here" });

  expect(text).toContain('vedette_dependency_up{dependency="postgres"} 1');
});

it("says 0 of a dependency that fails", async () => {
  const ask = async () => {
    throw new Error("refused");
  };

  const text = await probeOnce({ name: "redis", ask });

  expect(text).toContain('vedette_dependency_up{dependency="redis"} 0');
});

it("says 0 of a dependency that does not answer in time", async () => {
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
  const registry = new Registry();
  const dependencies = [{ name: "postgres", ask }];

  const prober = startProber({ registry, dependencies, log, intervalMs: 60_000 });
  await Promise.all([prober.probe(), prober.probe()]);
  prober.stop();

  expect(asked).toBe(1);
});
