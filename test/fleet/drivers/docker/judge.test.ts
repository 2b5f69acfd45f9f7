import { describe, expect, it } from "vitest";
import { gradeContainer, isListedWell, startFailure } from "#fleet/drivers/docker/judge.ts";
import { buildContainer, startedAt } from "../../../support/docker/container-builders.ts";

const after = (seconds: number) => Date.parse(startedAt) + seconds * 1_000;

const judge = (over: Parameters<typeof buildContainer>[1], seconds = 60) =>
  gradeContainer(buildContainer("gw", over), {
    nowMs: after(seconds),
    stableMs: 10_000,
    readyTimeoutMs: 300_000,
  });

const stopped = { Status: "exited", Running: false, FinishedAt: new Date(after(9)).toISOString() };
const stoppedLate = { ...stopped, FinishedAt: new Date(after(300)).toISOString() };
const health = (Status: string, ...exits: number[]) => ({
  Status,
  FailingStreak: exits.filter((code) => code !== 0).length,
  Log: exits.map((ExitCode) => ({ ExitCode, Output: `said ${ExitCode}\n` })),
});

describe("gradeContainer", () => {
  it.each([
    ["runs for long enough", {}, 10],
    ["is healthy for long enough", { state: { Health: health("healthy", 0) } }, 10],
    ["has a check of the kind none", { state: { Health: health("none") } }, 10],
  ])("is content with one that %s", (_, over, seconds) => {
    expect(judge(over, seconds)).toEqual({ status: "ready" });
  });

  it.each([
    ["was never started", { state: { Status: "created", Running: false } }, 60],
    ["has just started", {}, 9],
    ["is not yet healthy", { state: { Health: health("starting", 1) } }, 60],
  ])("waits for one that %s", (_, over, seconds) => {
    expect(judge(over, seconds)).toEqual({ status: "starting" });
  });

  // While it waits for its restart an engine says that it runs.
  it.each([
    ["crash_loop: exit code 1", { state: { Status: "restarting", Restarting: true, ExitCode: 1 } }],
    ["crash_loop: exit code 2", { restarts: 1, state: { ExitCode: 2 } }],
    ["crash_loop: exit code 0", { state: { ...stopped, ExitCode: 0 } }],
    ["oom_killed: its memory limit", { state: { ...stopped, ExitCode: 137, OOMKilled: true } }],
    [
      "probe_failing: the health check exits with 3: said 3",
      { state: { Health: health("unhealthy", 0, 3) } },
    ],
    [
      // Its container was stopped while another check ran.
      "probe_failing: the health check exits with 3: said 3",
      { state: { Health: health("unhealthy", 3, 137) } },
    ],
    [
      "crash_loop: exit code 1",
      { state: { ...stopped, ExitCode: 1, Health: health("unhealthy", 0) } },
    ],
    ["probe_failing", { state: { ...stopped, ExitCode: 137, Health: health("unhealthy", 1) } }],
    ["crash_loop: exit code 137", { state: { ...stopped, ExitCode: 137 } }],
    ["progress_deadline", { state: { ...stoppedLate, ExitCode: 0 } }],
    [
      "progress_deadline: the container was not healthy in time (the health check exits with 4",
      { state: { ...stoppedLate, Health: { ...health("unhealthy", 4), FailingStreak: 0 } } },
    ],
    ["start_error: exit code 127", { state: { Status: "created", Running: false, ExitCode: 127 } }],
    [
      "port_conflict: Bind for",
      {
        state: {
          Status: "created",
          Running: false,
          ExitCode: 128,
          Error: "Bind for 0.0.0.0:80 failed: port is already allocated",
        },
      },
    ],
  ])("says %s", (reason, over) => {
    const verdict = judge(over);

    expect(verdict).toMatchObject({ status: "failed", reason: expect.stringContaining(reason) });
  });

  it("gives up one that is not healthy in time", () => {
    const verdict = judge({ state: { Health: health("starting", 1) } }, 300);

    expect(verdict).toMatchObject({ reason: expect.stringMatching(/^progress_deadline/) });
  });
});

it("a container whose image took long is given up sooner", () => {
  const over = {
    labels: { "vedette.ready-within-ms": "20000" },
    state: { Health: health("starting", 1) },
  };

  expect(judge(over, 19)).toEqual({ status: "starting" });
  expect(judge(over, 20)).toMatchObject({ reason: expect.stringMatching(/^progress_deadline/) });
});

describe("startFailure", () => {
  it.each([
    ["port_conflict", "Address already in use"],
    ["config_invalid", "network 1f0e not found"],
    ["start_error", 'OCI runtime create failed: exec: "/bin/nothing": no such file'],
  ])("is %s", (code, words) => {
    expect(startFailure(words)).toBe(`${code}: ${words}`);
  });
});

describe("isListedWell", () => {
  it.each([
    [true, "running", "Up 2 minutes"],
    [true, "running", "Up 2 minutes (healthy)"],
    [false, "running", "Up 2 minutes (unhealthy)"],
    [false, "running", "Up 1 second (health: starting)"],
    [false, "restarting", "Restarting (1) 2 seconds ago"],
    [false, "exited", "Exited (0) 3 hours ago"],
  ])("is %s for %s, %s", (expected, State, Status) => {
    expect(isListedWell({ State, Status })).toBe(expected);
  });
});
