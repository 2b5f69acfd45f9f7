import { TerminalError } from "@restatedev/restate-sdk";
import { describe, expect, it } from "vitest";
import { createFleetDrift } from "#cron/jobs/drift.ts";
import { createJobRun } from "../../support/monitor/job-run.ts";

const checkOf = (fleet: string) => ({
  fleet,
  check: { service: "RolloutReconciler", key: fleet, handler: "check", request: {} },
});

function runJob(answerOf: (key: string) => string | Error): Promise<string> {
  const call = async ({ key }: { key: string }) => {
    const answer = answerOf(key);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const { run } = createJobRun({ call: call as ReturnType<typeof createJobRun>["run"]["call"] });
  return createFleetDrift(["eu", "us"].map(checkOf)).run(run);
}

describe("the job that compares fleets with their desired images", () => {
  it("says in one line what each check has found", async () => {
    expect(await runJob((key) => (key === "eu" ? "2 drifted" : "0 drifted"))).toBe(
      "eu: 2 drifted; us: 0 drifted",
    );
  });

  it("checks the other fleets, too, if one cannot be compared, and fails", async () => {
    const answerOf = (key: string) => (key === "eu" ? new TerminalError("no list") : "1 drifted");

    await expect(runJob(answerOf)).rejects.toThrow("eu: no list; us: 1 drifted");
  });
});
