/**
 * Measures how quickly Cancel and Status answer in the middle of a wave, called through the control gateway as
 * operators do, and how soon deploys stop. Beside them the least that Restate can do for a call. BENCH_TRIES:
 * number of cancelled rollouts. BENCH_DEPLOYS: durations of deploys, ms, separated by commas. BENCH_BUSY: number of
 * busy processes beside it.
 */
import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { createControl } from "#control/control.ts";
import { counter, countOn } from "../test/support/servers/counter.ts";
import {
  callRollout,
  createFleet,
  type Fleet,
  log,
  maxParallel,
  type Servers,
  withServers,
} from "./fixture.ts";
import { countFrom, countsFrom, percentile } from "./measure.ts";
import { finishBench, reportFigure, reportTable, startBench } from "./run.ts";

const tries = countFrom("BENCH_TRIES", 200);

/** Durations of deploys: some are over in the step that starts them, others have invocations of their own. */
const deploysMs = countsFrom("BENCH_DEPLOYS", [50, 500]);
/** Large enough that no wave ends before its Cancel. */
const size = 4_000;
const token = "bench-token";
/** A deploy that starts later than this after a Cancel is an error. */
const quietMs = 250;
/** Limits of p99. */
const limits = { quietMs: 100, loadedMs: 250 };
/** Six beside two processors are a load of 6. */
const busyProcesses = process.env["BENCH_BUSY"] === undefined ? 0 : countFrom("BENCH_BUSY", 6);

type Call = (handler: string, body?: unknown) => Promise<Record<string, unknown>>;

type Sample = {
  /** A call of `counter`. */
  leastMs: number;
  statusMs: number;
  cancelMs: number;
  /** From the call of Cancel, and from its answer, to the last deploy that was started; 0: before. */
  lastStartAfterCallMs: number;
  lastStartAfterAnswerMs: number;
  /** From the call of Cancel to the answer of the Rollout that it ended. */
  rolloutEndsMs: number;
};

/** Records when the last deploy was started, and how many there were. */
function watchStarts(fleet: Fleet) {
  const { apply } = fleet.driver;
  const starts = { lastAt: 0, count: 0 };
  fleet.driver.apply = (order) => {
    starts.lastAt = performance.now();
    starts.count++;
    return apply(order);
  };
  return starts;
}

async function serveControl({ ingressUrl, defer }: Servers): Promise<Call> {
  const control = createControl({ ingressUrl, ingressToken: token, log });
  const url = await control.listen({ host: "127.0.0.1", port: 0 });
  defer(() => control.close());
  return (handler, body) => callRollout({ url, handler, body, token });
}

type Calls = { call: Call; least: () => Promise<unknown> };

async function cancelOne(
  { call, least }: Calls,
  parts: { fleet: Fleet; starts: ReturnType<typeof watchStarts>; delayMs: number },
): Promise<Sample> {
  const { fleet, starts, delayMs } = parts;
  starts.count = 0;
  await fleet.sizeTo(size);
  const rollout = call("Rollout", { image: fleet.image(), wave_percentages: [100] });
  const ended = rollout.then((answer) => ({ answer, at: performance.now() }));
  // A refused rollout throws where it is awaited.
  ended.catch(() => {});
  const deadline = performance.now() + 10_000;
  while (starts.count < maxParallel && performance.now() < deadline) await delay(2);
  await delay(delayMs);

  const countedAt = performance.now();
  await least();
  const askedAt = performance.now();
  const status = await call("Status");
  const calledAt = performance.now();
  const cancelled = await call("Cancel");
  const answeredAt = performance.now();
  const { answer, at: endedAt } = await ended;
  await delay(quietMs);

  const states = [status["state"], cancelled["state"], answer["state"]].join(", ");
  if (states !== "in_progress, cancelled, cancelled" || starts.count >= size) {
    throw new Error(`not a Cancel mid-wave: ${states} after ${starts.count} deploys`);
  }
  return {
    leastMs: askedAt - countedAt,
    statusMs: calledAt - askedAt,
    cancelMs: answeredAt - calledAt,
    lastStartAfterCallMs: Math.max(0, starts.lastAt - calledAt),
    lastStartAfterAnswerMs: Math.max(0, starts.lastAt - answeredAt),
    rolloutEndsMs: endedAt - calledAt,
  };
}

/** Busy processes beside the measurement, as on a machine that does other things too. */
function startLoad(count: number): () => void {
  const args = ["-e", "for (;;);"];
  const busy = Array.from({ length: count }, () => spawn(process.execPath, args));
  return () => {
    for (const one of busy) one.kill("SIGKILL");
  };
}

type Parts = { fleet: Fleet; starts: ReturnType<typeof watchStarts>; deployMs: number };

async function measure(calls: Calls, { fleet, starts, deployMs }: Parts): Promise<Sample[]> {
  fleet.takes(deployMs);
  const samples: Sample[] = [];
  // The first tries warm up.
  for (let i = -5; i < tries; i++) {
    // Spread over the interval between two polls, so that some tries meet starts and results in flight.
    const sample = await cancelOne(calls, { fleet, starts, delayMs: (Math.max(0, i) * 7) % 220 });
    if (i >= 0) samples.push(sample);
  }
  return samples;
}

function report(deployMs: number, samples: readonly Sample[]): void {
  const limitMs = busyProcesses > 0 ? limits.loadedMs : limits.quietMs;
  const row = (measured: string, of: (sample: Sample) => number) => {
    const values = samples.map(of);
    return {
      measured,
      tries: values.length,
      "p50 ms": percentile(values, 50).toFixed(1),
      "p99 ms": percentile(values, 99).toFixed(1),
      "max ms": Math.max(...values).toFixed(1),
      [`over ${limitMs} ms`]: values.filter((value) => value > limitMs).length,
    };
  };
  reportTable(`Deploys of ${deployMs} ms, ${maxParallel} in flight`, [
    row("an object that counts answers, during a wave", ({ leastMs }) => leastMs),
    row("Status answers during a wave", ({ statusMs }) => statusMs),
    row("Cancel answers", ({ cancelMs }) => cancelMs),
    row("last deploy started, from the call of Cancel", (s) => s.lastStartAfterCallMs),
    row("last deploy started, from the answer of Cancel", (s) => s.lastStartAfterAnswerMs),
    row("the blocked Rollout answers, from the call of Cancel", (s) => s.rolloutEndsMs),
  ]);
  const kind = `deploys of ${deployMs} ms`;
  const reportP99 = (name: string, of: (sample: Sample) => number) => {
    const aim = { atMost: limitMs, unit: "ms" };
    reportFigure(`${name}, p99, ${kind}`, percentile(samples.map(of), 99), aim);
  };
  const cancelMs = samples.map((sample) => sample.cancelMs);
  reportFigure(`Cancel answers, p50, ${kind}`, percentile(cancelMs, 50), { unit: "ms" });
  reportP99("Cancel answers", (s) => s.cancelMs);
  reportP99("the blocked Rollout answers, from the call of Cancel", (s) => s.rolloutEndsMs);
  reportP99("last deploy started, from the call of Cancel", (s) => s.lastStartAfterCallMs);
}

startBench("cancel");
const fleet = createFleet();
const starts = watchStarts(fleet);
await withServers({ fleet, others: [counter] }, async (servers) => {
  const call = await serveControl(servers);
  const least = () => countOn(servers.ingressUrl);
  servers.defer(startLoad(busyProcesses));
  for (const deployMs of deploysMs) {
    report(deployMs, await measure({ call, least }, { fleet, starts, deployMs }));
  }
});
finishBench();
process.exit();
