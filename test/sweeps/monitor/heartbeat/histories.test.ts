/** Heartbeats through pings, silences and kills as they come by chance, held against a plain model. */
import { setTimeout as delay } from "node:timers/promises";
import fc from "fast-check";
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import {
  type Call,
  findMissing,
  findUnfounded,
  isInTurn,
  type Kind,
} from "../../../support/monitor/heartbeat-model.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const heartbeats = ["hourly", "nightly"].map((id) =>
  aHeartbeat({ id, periodSeconds: 1, graceSeconds: 1 }),
);

const step = fc.record({
  who: fc.nat({ max: heartbeats.length - 1 }),
  what: fc.oneof(
    { weight: 8, arbitrary: fc.constant("success" as const) },
    { weight: 2, arbitrary: fc.constant("fail" as const) },
    { weight: 2, arbitrary: fc.constant("start" as const) },
    { weight: 2, arbitrary: fc.constant("decide again" as const) },
    { weight: 1, arbitrary: fc.constant("restart watch" as const) },
    { weight: 1, arbitrary: fc.constant("kill Restate" as const) },
  ),
  waitMs: fc.oneof(
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 500 }) },
    { weight: 1, arbitrary: fc.constant(2_700) },
  ),
});

type Step = { who: number; what: Kind | Disturbance | "decide again"; waitMs: number };
type Disturbance = "restart watch" | "kill Restate";

async function startJob(bench: Bench, id: string) {
  const calls: Call[] = [];
  const startedMs = Date.now();
  const { ping } = await registerJob(bench, id);
  // The first silence counts from here, as if from a ping.
  calls.push({ kind: "success", fromMs: startedMs, toMs: Date.now(), isTaken: true });
  const call = async (kind: Kind) => {
    const fromMs = Date.now();
    const answer = await ping(kind === "success" ? "" : `/${kind}`);
    calls.push({ kind, fromMs, toMs: Date.now(), isTaken: answer?.status === 200 });
  };
  return { id, calls, call };
}

const disturb: Record<Disturbance, (bench: Bench) => Promise<void>> = {
  "restart watch": (bench) => bench.start(),
  "kill Restate": async (bench) => {
    await bench.restate.kill9();
    await bench.restate.restart();
  },
};

function isDisturbance(what: Step["what"]): what is Disturbance {
  return what in disturb;
}

it("each silence and failure opens one alert, and nothing else does", async () => {
  const history = fc.array(step, { minLength: 16, maxLength: 16 });
  const [steps = []] = fc.sample(history, { seed: 1, numRuns: 1 });
  const bench = await startMonitorBench({ heartbeats });
  const jobs = await Promise.all(heartbeats.map(({ id }) => startJob(bench, id)));
  const disturbances: { fromMs: number; toMs: number }[] = [];

  for (const { who, what, waitMs } of steps) {
    const job = jobs[who];
    if (job === undefined) continue;
    const fromMs = Date.now();
    if (isDisturbance(what)) {
      await disturb[what](bench);
      disturbances.push({ fromMs, toMs: Date.now() });
    } else if (what === "decide again") await bench.states.decideAll();
    else await job.call(what);
    await delay(waitMs);
  }
  // In the end all are silent, and then well.
  const endMs = Date.now();
  await waitFor(() => Date.now() - endMs > 3_500, { withinMs: 5_000, what: "the last silence" });
  for (const { id, call } of jobs) {
    await call("success");
    await waitFor(() => ordersOf(bench, id).at(-1)?.kind === "resolved", {
      withinMs: 20_000,
      what: `the last recovery of ${id}`,
    });
  }

  for (const { id, calls } of jobs) {
    const transitions = ordersOf(bench, id);
    expect(
      isInTurn(
        id,
        transitions.map(({ eventId }) => eventId),
      ),
    ).toBe(true);
    expect(findMissing(calls, { transitions, disturbances })).toEqual([]);
    expect(findUnfounded(calls, transitions)).toEqual([]);
  }
}, 120_000);

function ordersOf(bench: Bench, id: string) {
  return bench.orders.map(({ transition }) => transition).filter(({ checkId }) => checkId === id);
}
