import { describe, expect, it, vi } from "vitest";
import type { Job, JobRun } from "#cron/schedule.ts";
import { startCronBench } from "../../support/monitor/cron-bench.ts";
import { waitFor } from "../../support/wait-for.ts";

const everySecond = { everyMs: 1_000, offsetMs: 0 };
const never = { everyMs: 24 * 60 * 60_000, offsetMs: 0 };

/** A job that notes when it ran; `work` is what it does besides. */
function notingJob(
  schedule: Job["schedule"],
  work: (run: JobRun) => Promise<unknown> = async () => {},
) {
  const runsAtMs: number[] = [];
  const job: Job = {
    schedule,
    retryForMs: 300,
    run: async (run) => {
      await run.step("note", async () => {
        runsAtMs.push(Date.now());
        return null;
      });
      await work(run);
      return `run number ${runsAtMs.length}`;
    },
  };
  return { job, runsAtMs };
}

const untilRuns = (runsAtMs: number[], count: number) =>
  waitFor(() => runsAtMs.length >= count, { withinMs: 20_000, what: `${count} runs` });

const secondsOf = (runsAtMs: number[]) => runsAtMs.map((ms) => Math.floor(ms / 1_000));

/** Whether so many follow each other one by one. */
const hasInARow = (seconds: number[], count: number) =>
  seconds.some(
    (first, at) =>
      seconds.slice(at, at + count).every((second, n) => second === first + n) &&
      at + count <= seconds.length,
  );

describe("a timed job", () => {
  it("begins at its grid point although its timer fires before it", async () => {
    const begunMs: number[] = [];
    const { job, runsAtMs } = notingJob({ everyMs: 2_000, offsetMs: 0 }, async ({ nowMs }) => {
      begunMs.push(nowMs);
    });
    const bench = await startCronBench({ jobs: { "count-keys": job } });
    await bench.start();
    await untilRuns(runsAtMs, 1);
    const now = Date.now;
    const clock = vi.spyOn(Date, "now").mockImplementation(() => now() - 500);

    await untilRuns(runsAtMs, 3);
    clock.mockRestore();

    const latest = begunMs.at(-1) ?? 0;
    expect(latest % 2_000).toBeLessThan(1_400);
  });

  it.each([
    { mode: "as usual", alwaysReplay: false },
    { mode: "with every step replayed", alwaysReplay: true },
  ])("runs on its grid, once per tick, and pings once per run, $mode", async ({ alwaysReplay }) => {
    const { job, runsAtMs } = notingJob(everySecond);
    const bench = await startCronBench({ jobs: { "count-keys": job }, alwaysReplay });

    await bench.start();

    // A machine that stands still for longer misses ticks, which is as it should be.
    await waitFor(() => hasInARow(secondsOf(runsAtMs), 4), {
      withinMs: 20_000,
      what: "a run in each of 4 seconds",
    });
    const seconds = secondsOf(runsAtMs);
    expect(new Set(seconds).size).toBe(seconds.length);
    await waitFor(() => bench.pings.length >= 4, { withinMs: 5_000, what: "4 pings" });
    expect(bench.pings.length).toBeLessThanOrEqual(runsAtMs.length);
  });

  it("has one timer however often a worker starts", async () => {
    const { job } = notingJob(never);
    const bench = await startCronBench({ jobs: { "count-keys": job } });

    for (let n = 0; n < 5; n += 1) await bench.start();

    await waitFor(async () => (await bench.armedTicks()) === 1, {
      withinMs: 5_000,
      what: "one armed tick",
    });
    const { body } = await bench.call("count-keys", "Status");
    expect(body).toMatchObject({ job: "count-keys", schedule: "every day at 00:00 UTC" });
  });

  it("continues after Restate and the worker were killed, and skips missed ticks", async () => {
    const { job, runsAtMs } = notingJob(everySecond);
    const bench = await startCronBench({ jobs: { "count-keys": job } });
    await bench.start();
    await untilRuns(runsAtMs, 1);
    await bench.restate.kill9();
    const before = runsAtMs.length;
    await new Promise((resolve) => setTimeout(resolve, 3_000));

    await bench.restartWorker();
    await bench.restate.restart();

    await untilRuns(runsAtMs, before + 4);
    // Three that were missed and made up for would share their second; one may be late.
    const since = secondsOf(runsAtMs.slice(before));
    expect(new Set(since).size).toBeGreaterThanOrEqual(since.length - 1);
  });

  it("never runs twice at a time: ticks during a long run are skipped", async () => {
    let atWork = 0;
    let most = 0;
    const { job, runsAtMs } = notingJob(everySecond, ({ step }) =>
      step("work", async () => {
        atWork += 1;
        most = Math.max(most, atWork);
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        atWork -= 1;
        return null;
      }),
    );
    const bench = await startCronBench({ jobs: { "count-keys": job } });

    await bench.start();

    await untilRuns(runsAtMs, 3);
    expect(most).toBe(1);
    expect(bench.logLines.join("")).toContain("cron job still running, run skipped");
  });

  it("is refused to an operator while it runs, and run at once when it does not", async () => {
    const gate = Promise.withResolvers<null>();
    const { job, runsAtMs } = notingJob(never, ({ step }) => step("wait", () => gate.promise));
    const bench = await startCronBench({ jobs: { "quota-check": job } });
    const first = bench.call("quota-check", "Run");
    await untilRuns(runsAtMs, 1);

    const second = await bench.call("quota-check", "Run");
    gate.resolve(null);

    expect(second.status).toBe(409);
    expect(await first).toMatchObject({
      status: 200,
      body: { outcome: "succeeded", summary: "run number 1" },
    });
  });

  it.each([
    { mode: "as usual", alwaysReplay: false },
    { mode: "with every step replayed", alwaysReplay: true },
  ])("names the operator who started it, running and ended, $mode", async ({ alwaysReplay }) => {
    const gate = Promise.withResolvers<null>();
    const { job } = notingJob(never, ({ step }) => step("wait", () => gate.promise));
    const bench = await startCronBench({ jobs: { "quota-check": job }, alwaysReplay });
    const run = bench.call("quota-check", "Run", "ada");
    const status = async () => (await bench.call("quota-check", "Status")).body;
    await expect.poll(status).toMatchObject({ running_by: "ada" });

    gate.resolve(null);

    expect((await run).body).toMatchObject({ outcome: "succeeded", by: "ada" });
    await expect.poll(status).toMatchObject({ last_run: { outcome: "succeeded", by: "ada" } });
    const logged = bench.logLines.find((line) => line.includes("cron job started by an operator"));
    expect(JSON.parse(logged ?? "{}")).toMatchObject({ job: "quota-check", by: "ada" });
  });

  it("names an operator whose run was killed", async () => {
    const { job, runsAtMs } = notingJob(never, ({ step }) =>
      step("hang", () => new Promise<null>(() => {})),
    );
    const bench = await startCronBench({ jobs: { "quota-check": job } });
    const first = bench.call("quota-check", "Run", "ada");
    const status = async () => (await bench.call("quota-check", "Status")).body;
    await expect.poll(status).toMatchObject({ running_by: "ada" });
    await untilRuns(runsAtMs, 1);
    await bench.killRunner();
    await first;

    bench.call("quota-check", "Run", "grace").catch(() => {});

    await expect.poll(status).toMatchObject({
      running_by: "grace",
      last_run: { outcome: "lost", by: "ada" },
    });
    await bench.killRunner();
  });

  it("names nobody when its timer started it", async () => {
    const { job } = notingJob(everySecond);
    const bench = await startCronBench({ jobs: { "count-keys": job } });

    await bench.start();

    const status = async () => (await bench.call("count-keys", "Status")).body;
    await expect.poll(status).toMatchObject({ last_run: { outcome: "succeeded", by: null } });
  });

  it("whose step keeps failing has failed, pings nothing, and runs again", async () => {
    let attempts = 0;
    const { job } = notingJob(never, ({ step }) =>
      step("fail", async () => {
        attempts += 1;
        if (attempts < 100) throw new Error("the store is away");
        return null;
      }),
    );
    const bench = await startCronBench({ jobs: { "count-keys": job } });

    const failed = await bench.call("count-keys", "Run");
    attempts = 100;
    const succeeded = await bench.call("count-keys", "Run");

    expect(failed.body).toMatchObject({ outcome: "failed", summary: "the store is away" });
    expect(succeeded.body).toMatchObject({ outcome: "succeeded" });
    expect(bench.pings).toHaveLength(1);
    const metrics = await bench.registry.metrics();
    expect(metrics).toContain('vedette_cron_runs_total{job="count-keys",outcome="failed"} 1');
    expect(metrics).toContain('vedette_cron_runs_total{job="count-keys",outcome="succeeded"} 1');
  });

  it("is not stuck when a run was killed", async () => {
    let isFirst = true;
    const { job, runsAtMs } = notingJob(never, async ({ step }) => {
      const hangs = isFirst;
      isFirst = false;
      await step("hang", () => (hangs ? new Promise<null>(() => {}) : Promise.resolve(null)));
    });
    const bench = await startCronBench({ jobs: { "count-keys": job } });
    const first = bench.call("count-keys", "Run");
    await untilRuns(runsAtMs, 1);
    await bench.killRunner();
    await first;

    const second = await bench.call("count-keys", "Run");

    expect(second.body).toMatchObject({ outcome: "succeeded" });
  });

  it("keeps what it remembers from run to run, and posts chat messages", async () => {
    const { job } = notingJob(never, async ({ recall, remember, post, runId }) => {
      const count = ((await recall<number>("count")) ?? 0) + 1;
      remember("count", count);
      post("quota_check", {
        id: runId,
        title: `run ${count}`,
        tone: "info",
        lines: [],
        fields: [],
      });
    });
    const bench = await startCronBench({ jobs: { "quota-check": job } });

    await bench.call("quota-check", "Run");
    await bench.call("quota-check", "Run");

    await waitFor(() => bench.chat.messages.length === 2, { withinMs: 5_000, what: "messages" });
    expect(bench.chat.messages.map(({ text }) => text)).toEqual(["🔵 run 1", "🔵 run 2"]);
  });

  it("is off when it has no settings, and says so", async () => {
    const bench = await startCronBench({ jobs: {} });

    const status = await bench.call("certificate-renewal", "Status");
    const run = await bench.call("certificate-renewal", "Run");

    expect(status.body).toEqual({ job: "certificate-renewal", schedule: "off" });
    expect(run.status).toBe(409);
  });
});

describe("a heartbeat", () => {
  it("is pinged again when the first request failed", async () => {
    const { job } = notingJob(never);
    const bench = await startCronBench({ jobs: { "count-keys": job }, pingAnswers: [503, 500] });

    const { body } = await bench.call("count-keys", "Run");

    expect(body).toMatchObject({ outcome: "succeeded" });
    expect(bench.pings).toHaveLength(3);
  });

  it("that refuses fails no job, and its address is in no log", async () => {
    const { job } = notingJob(never);
    const bench = await startCronBench({ jobs: { "count-keys": job }, pingAnswers: [404] });

    const { body } = await bench.call("count-keys", "Run");

    expect(body).toMatchObject({ outcome: "succeeded" });
    expect(bench.pings).toHaveLength(1);
    expect(bench.logLines.join("")).toContain("heartbeat not pinged");
    expect(bench.logLines.join("")).not.toContain("secret-token");
  });
});
