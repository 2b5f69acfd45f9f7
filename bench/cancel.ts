/** How quickly Cancel and Status answer in the middle of a wave. */
import { setTimeout as delay } from "node:timers/promises";
import { callRollout, createFleet, percentile, startServers } from "./fixture.ts";

const tries = Number(process.env["BENCH_TRIES"] ?? 200);
const size = 400;

/** Deploys of 50 ms, 100 in flight: a wave of 400 takes a good while longer than until its Cancel. */
const fleet = createFleet(50);
const servers = await startServers(fleet);
const call = (handler: string, body?: unknown) => callRollout(servers.ingressUrl, handler, body);
const cancelMs: number[] = [];
const statusMs: number[] = [];
const lastStartMs: number[] = [];

const timed = async (into: number[], action: () => Promise<unknown>) => {
  const startedAt = performance.now();
  await action();
  into.push(performance.now() - startedAt);
};

let lastApplyAt = 0;
const { apply } = fleet.driver;
fleet.driver.apply = (order) => {
  lastApplyAt = performance.now();
  return apply(order);
};

for (let i = 0; i < tries; i++) {
  fleet.sizeTo(size);
  const rollout = call("Rollout", { image: fleet.image(), wave_percentages: [100] });
  await delay(150 + (i % 10) * 15);
  await timed(statusMs, () => call("Status"));
  const cancelledAt = performance.now();
  await timed(cancelMs, () => call("Cancel"));
  await rollout;
  lastStartMs.push(Math.max(0, lastApplyAt - cancelledAt));
}

const row = (name: string, values: number[]) => ({
  measured: name,
  tries: values.length,
  "p50 ms": percentile(values, 50).toFixed(1),
  "p99 ms": percentile(values, 99).toFixed(1),
  "max ms": Math.max(...values).toFixed(1),
});
console.table([
  row("Cancel answers", cancelMs),
  row("last deploy started after Cancel was called", lastStartMs),
  row("Status answers during a wave", statusMs),
]);
await servers.stop();
process.exit(0);
