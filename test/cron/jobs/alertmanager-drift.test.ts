import { expect, it } from "vitest";
import { createAlertmanagerDrift, type ReadDrifts } from "#cron/jobs/drift.ts";
import { createJobRun } from "../../support/monitor/job-run.ts";

type States = Partial<Record<"production" | "staging", "in_step" | "drifted" | "unknown">>;

/** Runs the job once for each of these, and answers what each run said in the chat. */
async function runWith(...all: States[]): Promise<string[][]> {
  let now: States = {};
  const read: ReadDrifts = async () =>
    Object.entries(now).map(([environment, state]) => ({
      environment,
      state,
      lines: Array.from({ length: 20 }, (_, i) => `line ${i}`),
    }));
  const { run, posted } = createJobRun();
  const job = createAlertmanagerDrift(read);
  const said: string[][] = [];
  for (const states of all) {
    posted.length = 0;
    now = states;
    await job.run(run);
    said.push(posted.map(({ title }) => title.replace(/^The alert manager /, "")));
  }
  return said;
}

const out = "(production) is out of step with the routes";
const back = "(production) is in step with the routes again";

it("notifies once when an alert manager drifts, and once when it is in step again", async () => {
  const production = ["in_step", "drifted", "drifted", "in_step", "in_step"] as const;

  const said = await runWith(...production.map((state) => ({ production: state })));

  expect(said).toEqual([[], [out], [], [back], []]);
});

it("announces nothing while the state is unknown", async () => {
  const production = ["drifted", "unknown", "drifted", "unknown", "in_step"] as const;

  const said = await runWith(...production.map((state) => ({ production: state })));

  expect(said).toEqual([[out], [], [], [], [back]]);
});

it("announces each environment separately", async () => {
  const said = await runWith(
    { production: "drifted", staging: "in_step" },
    { production: "drifted", staging: "drifted" },
  );

  expect(said).toEqual([[out], ["(staging) is out of step with the routes"]]);
});

it("the job forgets an alert manager that the settings no longer name", async () => {
  const said = await runWith({ production: "drifted" }, {}, { production: "in_step" });

  expect(said).toEqual([[out], [], []]);
});

it("the notice has as many lines as people read, and the command for the rest", async () => {
  const { run, posted } = createJobRun();
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  const job = createAlertmanagerDrift(async () => [
    { environment: "staging", state: "drifted", lines },
  ]);

  await job.run(run);

  expect(posted[0]?.lines).toEqual([
    ...lines.slice(0, 8),
    "… and 12 more",
    "To see all: vedette alerts alertmanager plan --environment staging",
  ]);
});
