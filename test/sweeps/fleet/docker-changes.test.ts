/** Replacements of a real engine's containers, each interrupted at another one of its changes. */
import { describe, expect, it } from "vitest";
import type { DeployOrder, Driver, SentinelObservation } from "#fleet/drivers/driver.ts";
import { canRunEngines } from "../../support/docker/engine.ts";
import { type Fate, startEngineProxy } from "../../support/docker/engine-proxy.ts";
import { buildDockerHost, createTestDriver, startDockerFleet } from "../../support/docker/fleet.ts";
import { inTurns } from "../../support/program/kill-and-restart.ts";
import { waitFor } from "../../support/wait-for.ts";

/** As many as the longest replacement has, and one more. */
const changes = Array.from({ length: 15 }, (_, index) => index + 1);

const fates: [string, number, Omit<Fate, "at">][] = [
  ["a change is lost on its way", 0, { when: "before", isLast: false }],
  ["the answer to a change is lost", 1, { when: "after", isLast: false }],
  ["the process is killed before a change", 2, { when: "before", isLast: true }],
  ["the process is killed after a change", 3, { when: "after", isLast: true }],
];

const kinds: [string, Record<string, string>][] = [
  ["that leaves its place first", { "vedette.replace": "stop-first" }],
  ["beside its new one", {}],
];

const createDriver = (url: string) => createTestDriver({ hosts: [buildDockerHost({ url })] });

/** As the deploys do it: an order is repeated until it is given, then looked at. */
async function deploy(driver: () => Driver, order: DeployOrder): Promise<SentinelObservation> {
  const attempt = async () => {
    const { failure } = await driver().apply(order);
    if (failure !== undefined) throw new Error(failure);
    return true;
  };
  const limits = { withinMs: 60_000, what: `${order.sentinelId} to be ordered` };
  await waitFor(() => attempt().catch(() => false), limits);
  const look = async () => {
    const seen = await driver().observe(order);
    if (seen.isOrdered === false) await driver().apply(order);
    return seen.status !== "progressing" && seen;
  };
  return waitFor(() => look().catch(() => false as const), {
    ...limits,
    what: `${order.sentinelId} to settle`,
  });
}

describe.skipIf(!canRunEngines()).each(kinds)("a container %s", (_, labels) => {
  it.each(fates)("is replaced, or is as it was, although %s", async (__, turn, fate) => {
    const chosen = inTurns(changes, turn, 4);
    const { engine, images } = await startDockerFleet(["v1", "v2", "v2-crash"]);
    const spare = createDriver(engine.url);

    const replace = async (tag: string, at: number) => {
      const name = `gw-${tag}-${at}`;
      const host = { RestartPolicy: { Name: "always" } };
      await engine.run(name, { image: images("v1"), labels, host });
      const before = await engine.inspect(name);
      const proxy = await startEngineProxy(engine.socket, { ...fate, at });
      let driver = createDriver(proxy.url);
      const first = driver;
      if (fate.isLast) {
        proxy.fallen.then(() => {
          driver = spare;
          return first.stop();
        });
      }
      const order = { sentinelId: `one/${name}`, image: images(tag), deployId: `d-${name}` };
      return { name, before, seen: await deploy(() => driver, order) };
    };

    const good = await Promise.all(chosen.filter((at) => at < 10).map((at) => replace("v2", at)));
    const bad = await Promise.all(chosen.map((at) => replace("v2-crash", at)));

    for (const { name, seen } of good) {
      expect(seen, name).toMatchObject({ status: "ready", running_image: images("v2") });
      expect(await engine.inspect(name)).toMatchObject({
        State: { Running: true },
        HostConfig: { RestartPolicy: { Name: "always" } },
      });
    }
    for (const { name, before, seen } of bad) {
      expect(seen, name).toMatchObject({ status: "failed", running_image: images("v1") });
      expect(seen.reason, name).toMatch(/^crash_loop: exit code/);
      expect(await engine.inspect(name), name).toMatchObject({
        Id: before.Id,
        State: { Running: true },
        HostConfig: { RestartPolicy: { Name: "always" } },
      });
    }
    const left = (await engine.containers()).flatMap(({ Names }) => Names);
    expect(left.filter((name) => /\.(next|prev|failing)$/.test(name))).toEqual([]);
    expect(left.filter((name) => name.endsWith(".failed"))).toHaveLength(bad.length);
  });
});
