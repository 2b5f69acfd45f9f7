/** A fresh start: the heartbeats of the program's own jobs are alive, or name the setting that turns their job on. */
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CheckList } from "#monitor/results/contract.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

async function view(id: string) {
  const { body } = await program.post("vedette.v1.CheckReads/List");
  return (body as unknown as CheckList).checks.find((check) => check.id === id);
}

const untilStatus = (id: string, status: string) =>
  waitFor(async () => (await view(id))?.status === status, {
    withinMs: 20_000,
    what: `${id} to be ${status}`,
  });

it("the heartbeat of a job that has run is ok, without a ping URL", async () => {
  await untilStatus("workflows-count-keys", "ok");

  expect((await view("workflows-count-keys"))?.due_at).not.toBeNull();
});

it("the heartbeat of a job that has yet to run says so, and is ok once it has", async () => {
  await untilStatus("workflows-refill", "pending");
  const waiting = await view("workflows-refill");

  const run = await program.post("vedette.v1.CronService/key-refill/Run");

  expect(waiting).toMatchObject({ reason: "waits for the first run of the job key-refill" });
  expect(waiting?.due_at).not.toBeNull();
  expect(run.status).toBe(200);
  await untilStatus("workflows-refill", "ok");
});

it.each([
  ["quota-check", "analytics.enabled"],
  ["certificate-workflow", "acme.names"],
])("%s is off without %s, and says so", async (id, setting) => {
  await untilStatus(id, "paused");

  expect(await view(id)).toMatchObject({ missing_settings: [setting], due_at: null });
});

it("the heartbeats of another installation are not set up", async () => {
  const staging = await view("key-refill-staging");

  expect(staging).toMatchObject({
    status: "pending",
    reason: "not set up: `vedette heartbeats register key-refill-staging` makes its ping URL",
  });
});
