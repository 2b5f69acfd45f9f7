/** What the monitor is told of the runs of a job. */
import { expect, it } from "vitest";
import type { Job } from "#cron/schedule.ts";
import { startCronBench } from "../../support/monitor/cron-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const never = { everyMs: 24 * 60 * 60_000, offsetMs: 0 };
const jobOf = (run: Job["run"]): Job => ({ schedule: never, retryForMs: 300, run });

it("the monitor is told once of a run that went well, also over a restart of the worker", async () => {
  const bench = await startCronBench({
    jobs: { "count-keys": jobOf(async () => "counted") },
    // The ping of the URL comes after the call, and is retried over the restart.
    pingAnswers: [503, 503],
  });
  const run = bench.call("count-keys", "Run");
  await waitFor(() => bench.pings.length > 0, { withinMs: 20_000, what: "the end of the run" });

  await bench.restartWorker();
  const { body } = await run;

  await waitFor(() => bench.successes.size > 0, { withinMs: 20_000, what: "the call" });
  const [...told] = bench.successes.values();
  expect(told).toEqual([{ job: "count-keys", atMs: Date.parse(body["ended_at"] ?? "") }]);
});

it("the monitor is not told of a run that failed", async () => {
  const bench = await startCronBench({
    jobs: {
      "count-keys": jobOf(async ({ step }) => {
        await step("fail", () => Promise.reject(new Error("no keys")));
        return "";
      }),
    },
  });

  const { body } = await bench.call("count-keys", "Run");

  expect(body).toMatchObject({ outcome: "failed" });
  expect(bench.successes.size).toBe(0);
});
