/** Pings that come while their records cannot be written. */
import { expect, it, onTestFinished } from "vitest";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";

const log = createLog({ level: "silent", format: "json" });

/** A heartbeat that alerts after three seconds without a ping, and is ok. */
async function startJob() {
  const nightly = aHeartbeat({ id: "nightly", periodSeconds: 2, graceSeconds: 1 });
  const bench = await startMonitorBench({ heartbeats: [nightly] });
  const { ping } = await registerJob(bench, "nightly");
  await ping();
  await bench.untilWell("nightly");
  return { bench, ping };
}

type Job = Awaited<ReturnType<typeof startJob>>;

/** Pings five times a second, whether earlier ones are answered or not. `stop` resolves to all answers. */
function keepPinging({ ping }: Job) {
  const answers: Promise<number | undefined>[] = [];
  const timer = setInterval(() => {
    answers.push(Promise.resolve(ping()).then((answer) => answer?.status));
  }, 200);
  onTestFinished(() => clearInterval(timer));
  return {
    stop: () => {
      clearInterval(timer);
      return Promise.all(answers);
    },
  };
}

it("nobody is paged while results are locked, and each ping is answered once its own is stored", async () => {
  const job = await startJob();
  const holder = openDatabase(job.bench.database.options.connectionString ?? "", log);
  onTestFinished(() => holder.end());
  const pings = keepPinging(job);

  await holder.query("BEGIN; LOCK TABLE check_results; SELECT pg_sleep(10); COMMIT");
  const answers = await pings.stop();

  const { rows } = await holder.query(
    "SELECT count(*)::int AS n FROM check_results WHERE check_id = 'nightly'",
  );
  expect(job.bench.orders).toEqual([]);
  expect(answers.length).toBeGreaterThan(30);
  expect(new Set(answers)).toEqual(new Set([200]));
  // The first result is of the ping before.
  expect(rows[0].n).toBe(1 + answers.length);
});
