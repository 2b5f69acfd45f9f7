import { describe, expect, it } from "vitest";
import { createAlertRoutesDrift } from "#cron/jobs/drift.ts";
import { createJobRun } from "../../support/monitor/job-run.ts";

describe("the job that compares alert routes with their rows says in one line", () => {
  it.each([
    { drift: { state: "in_step", routes: [] }, summary: "in step" },
    {
      drift: { state: "drifted", routes: [{ name: "Critical" }, { name: "Warning" }] },
      summary: "out of step: 2 routes",
    },
    {
      drift: { state: "unknown", routes: [], reason: "the incident service answers 503" },
      summary: "unknown: the incident service answers 503",
    },
  ] as const)("$summary", async ({ drift, summary }) => {
    const job = createAlertRoutesDrift({ minutes: 60, compare: async () => drift });

    expect(await job.run(createJobRun().run)).toBe(summary);
  });
});
