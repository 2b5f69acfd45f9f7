import { once } from "node:events";
import { expect, it } from "vitest";
import { createLog } from "#kernel/log.ts";
import { watchClock } from "#monitor/clock-watch.ts";

const log = createLog({ level: "silent", format: "json" });
const hour = 3_600_000;

/** What the clock is ahead at each look, the first one included. Answers how often it was told. */
async function timesTold(aheadMs: number[], faults: Error[] = []): Promise<number> {
  let told = 0;
  const done = Promise.withResolvers<void>();
  const watch = watchClock({
    onSetBack: async () => {
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      told += 1;
    },
    log,
    aheadMs: () => aheadMs.shift() ?? 0,
    pause: async (_ms, _, { signal }) => {
      if (aheadMs.length > 0) return;
      done.resolve();
      await once(signal, "abort");
    },
  });
  await done.promise;
  await watch.stop();
  return told;
}

it("the clock watch calls back once when the clock was set back", async () => {
  expect(await timesTold([hour, hour, 0, 0, 0])).toBe(1);
});

it("the clock watch calls back again after a failure", async () => {
  expect(await timesTold([hour, 0, 0, 0], [new Error("away")])).toBe(1);
});

it("the clock watch does not call back when the clock is set ahead or slewed", async () => {
  expect(await timesTold([0, hour, hour, hour - 1_000, hour - 2_000, hour - 3_000])).toBe(0);
});
