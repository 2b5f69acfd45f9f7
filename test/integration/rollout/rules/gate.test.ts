import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { CheckResult } from "#monitor/contract.ts";
import { RolloutStatus } from "#rollout/contract.ts";
import { aCheckResult } from "../../../support/monitor/check-builders.ts";
import { anApiRow, saveRecords, saveRow } from "../../../support/monitor/check-rows.ts";
import {
  type Answer,
  type RolloutBench,
  startRolloutBench,
} from "../../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../../support/rollout/rollout-builders.ts";
import { untilInFlight } from "../../../support/rollout/standstill.ts";
import { waitFor } from "../../../support/wait-for.ts";

const gated = {
  image: imageV2,
  wave_percentages: [50, 100],
  gate: { checks: ["verify-key"], clean_runs: 2, timeout_seconds: 60 },
};

describe("a rollout with a gate", () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({
      size: 4,
      whyOff: (check) => (check === "rate-limit" ? ["monitor.root_key"] : []),
    });
  });

  afterAll(() => bench.stop());

  afterEach(async () => {
    await bench.call("Cancel");
    await untilInFlight(bench, 0);
    await bench.database.query("TRUNCATE check_results, check_states");
    bench.fleet.reset();
  });

  const untilClosed = async () => {
    const { gate } = await waitFor(
      async () => {
        const status = RolloutStatus.parse((await bench.call("Status")).body);
        return status.state === "in_progress" && status.gate && { gate: status.gate };
      },
      { withinMs: 10_000, what: "the gate to close" },
    );
    return Date.parse(gate.since);
  };

  /** What the check found at a tick, and that the run is over. */
  const report = async (atMs: number, of: Partial<CheckResult> = {}) => {
    const found = { checkId: "verify-key", scheduledAtMs: atMs, startedAtMs: atMs };
    await saveRecords(bench.database, { results: [aCheckResult({ ...found, ...of })] });
    await saveRow(bench.database, "verify-key", anApiRow({ decidedRunMs: atMs }));
  };

  const untilState = (state: string) =>
    waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body.state === state && RolloutStatus.parse(body);
      },
      { withinMs: 15_000, what: `the rollout to be ${state}` },
    );

  it("starts the next wave once the check has had its clean runs, and not before", async () => {
    await report(Date.now() - 60_000);
    await bench.send("Rollout", gated);
    const closedMs = await untilClosed();

    await report(closedMs + 1_000);
    const waiting = await waitFor(
      async () => {
        const status = RolloutStatus.parse((await bench.call("Status")).body);
        return status.gate?.checks[0]?.clean_runs === 1 && status;
      },
      { withinMs: 10_000, what: "a clean run to be counted" },
    );
    await report(closedMs + 2_000);
    const completed = await untilState("completed");

    expect(waiting).toMatchObject({ state: "in_progress", current_wave: 1, succeeded: 2 });
    expect(completed).toMatchObject({ current_wave: 2, succeeded: 4 });
    expect(completed.gate).toBeUndefined();
  });

  it("pauses on a failed run, with the evidence, and leaves the rest of the fleet alone", async () => {
    await bench.send("Rollout", gated);
    const closedMs = await untilClosed();

    await report(closedMs + 1_000, {
      grade: "failed",
      cause: "error",
      reason: "connection refused",
      location: "fra",
    });
    const paused = await untilState("paused");

    expect(paused.reason).toBe("the gate is closed: verify-key failed at fra (connection refused)");
    expect(paused.gate?.checks[0]?.failed_run).toMatchObject({
      at: new Date(closedMs + 1_000).toISOString(),
      location: "fra",
      reason: "connection refused",
    });
    expect([...bench.fleet.running().values()].filter((image) => image === imageV1)).toHaveLength(
      2,
    );
    await waitFor(
      () => bench.chat.messages.some((one) => JSON.stringify(one).includes("connection refused")),
      {
        withinMs: 5_000,
        what: "the message",
      },
    );
  });

  it("does not count a degraded run, nor one that is not over", async () => {
    await bench.send("Rollout", gated);
    const closedMs = await untilClosed();
    await report(closedMs + 1_000, { grade: "degraded", cause: "slow", reason: "slow" });
    await report(closedMs + 2_000);

    const open = aCheckResult({ checkId: "verify-key", scheduledAtMs: closedMs + 3_000 });
    await saveRecords(bench.database, { results: [open] });
    const status = await waitFor(
      async () => {
        const found = RolloutStatus.parse((await bench.call("Status")).body);
        return found.gate?.checks[0]?.clean_runs === 1 && found;
      },
      { withinMs: 10_000, what: "the clean run to be counted" },
    );

    expect(status).toMatchObject({ state: "in_progress", current_wave: 1 });
  });

  it("continues with the next wave when an operator resumes it", async () => {
    await bench.send("Rollout", gated);
    await report((await untilClosed()) + 1_000, {
      grade: "failed",
      cause: "error",
      reason: "gone",
    });
    await untilState("paused");

    const { body } = await bench.call("Resume");

    expect(body).toMatchObject({ state: "completed", succeeded: 4 });
  });

  it("can be cancelled while it waits, and its caller gets the answer", async () => {
    const rollout = bench.call("Rollout", gated);
    await untilClosed();

    const cancelled = await bench.call("Cancel");

    expect(cancelled.body.state).toBe("cancelled");
    expect((await rollout).body).toMatchObject({ state: "cancelled", succeeded: 2 });
  });

  it("answers its caller at once after a Cancel, however seldom the checks are read", async () => {
    const rarely = { ...gated.gate, timeout_seconds: 86_400 };
    let answer: Answer | undefined;
    void bench.call("Rollout", { ...gated, gate: rarely }).then((body) => {
      answer = body;
    });
    await untilClosed();

    await bench.call("Cancel");

    const { body } = await waitFor(() => answer, { withinMs: 20_000, what: "the answer" });
    expect(body).toMatchObject({ state: "cancelled", succeeded: 2 });
  });

  it("refuses a check that does not exist, and starts nothing", async () => {
    const answer = await bench.call("Rollout", { ...gated, gate: { checks: ["verify-kee"] } });

    expect(answer.status).toBe(400);
    expect(answer.body["message"]).toContain("there is no API check verify-kee");
  });

  it.each(["Plan", "Rollout"] as const)(
    "%s refuses a check that is off, names its setting, and starts nothing",
    async (handler) => {
      const gate = { checks: ["liveness", "rate-limit"] };

      const answer = await bench.call(handler, { ...gated, gate });

      expect(answer.status).toBe(409);
      expect(answer.body["message"]).toBe(
        "gate.checks: rate-limit is off, and a gate with it would never open: set monitor.root_key, or leave it out",
      );
      expect((await bench.call("Status")).body.state).not.toBe("in_progress");
    },
  );
});

it("a gate that was accepted is not judged again when the call is replayed", async () => {
  let looks = 0;
  const bench = await startRolloutBench({
    size: 2,
    alwaysReplay: true,
    whyOff: () => {
      looks += 1;
      return looks === 1 ? [] : ["monitor.key"];
    },
  });
  onTestFinished(() => bench.stop());

  const answer = await bench.call("Rollout", { ...gated, wave_percentages: [100] });

  expect(answer.body).toMatchObject({ state: "completed" });
});
