/** `vedette fleet` on the whole program: its timed job compares, the command reads. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { waitFor } from "../../support/wait-for.ts";

let program: Program;

beforeAll(async () => {
  program = await startProgram();
});

afterAll(() => program?.dispose());

const fleet = (...args: string[]) =>
  runVedette(["fleet", ...args], { VEDETTE_DATA_DIR: program.dataDir });

/** Runs the job, which refuses while a run that its timer has started goes on. */
async function compareOnce() {
  const answer = await program.post("vedette.v1.CronService/fleet-drift/Run", {});
  return answer.status === 409 ? undefined : answer;
}

it("the fleet is compared after a rollout, and held until it is released", async () => {
  await program.post("vedette.v1.SentinelRolloutService/singleton/Rollout", {
    image: "vedette/sentinel:v2",
  });
  const { status } = await waitFor(compareOnce, { withinMs: 20_000, what: "the timer's run" });

  const drift = await fleet("drift");
  const held = await fleet("hold", "--reason", "an audit");
  const id = /hold-\w+/.exec(held.stdout)?.[0] ?? "";
  const released = await fleet("release", id, "--reason", "it is over");
  const metrics = await (await fetch(`${program.endpoints().metrics}/metrics`)).text();

  expect(status).toBe(200);
  expect(metrics).toContain('vedette_fleet_drifted{fleet="singleton",why="drifted"} 0');
  expect(drift.stdout).toMatch(/^Every sentinel runs its desired image, as of /);
  expect(drift.code).toBe(0);
  expect(held.stdout).toMatch(/^Held: the whole fleet\. /);
  expect(released.stdout).toBe("Released: the whole fleet.\n");
});
