/** The program while the API of its fleet is down. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { waitFor } from "../../support/wait-for.ts";

const image = "registry.example.com/vedette/sentinel:v2";

let program: Program;
let fleet: FakeFleet | undefined;
let port: number;

beforeAll(async () => {
  port = await freePort();
  program = await startProgram({
    VEDETTE_FLEET__DRIVER: "http",
    VEDETTE_FLEET__HTTP__URL: `http://127.0.0.1:${port}`,
    VEDETTE_FLEET__HTTP__TOKEN: "fleet-token",
    VEDETTE_FLEET__LIST_EVERY_SECONDS: "1",
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  });
});

afterAll(async () => {
  await program?.dispose();
  await fleet?.stop();
});

const fault = () => `unreachable: ECONNREFUSED on the way to the fleet at http://127.0.0.1:${port}`;

const vedette = (...args: string[]) => runVedette(args, { VEDETTE_DATA_DIR: program.dataDir });

const list = async () => {
  const { control } = program.endpoints();
  const answer = await fetch(`${control}/vedette.v1.FleetService/List`, {
    method: "POST",
    headers: { authorization: `Bearer ${program.token()}`, "content-type": "application/json" },
    body: "{}",
  });
  return (await answer.json()) as { sentinels: unknown[]; list_problem?: string };
};

it("starts, serves its API and reports why it has no sentinels", async () => {
  const liveness = await fetch(`${program.endpoints().api}/v2/liveness`);

  expect(liveness.status).toBe(200);
  expect(await list()).toEqual({
    sentinels: [],
    list_problem: fault(),
  });
});

it("the plan of a rollout says which fleet cannot be listed, and why", async () => {
  const { code, stderr } = await vedette("rollout", "plan", image);

  expect(code).toBe(1);
  expect(stderr).toContain(`the fleet cannot be listed now (${fault()})`);
});

it("the start of a rollout says which fleet it waits for, and why", async () => {
  const { code, stdout } = await vedette("rollout", "start", image);
  await vedette("rollout", "cancel");

  expect(code).toBe(0);
  expect(stdout).toContain(`waits for the fleet's list: ${fault()}`);
  expect(stdout).toContain("Next: npx vedette rollout cancel");
});

it("pauses a rollout that cannot list its fleet, which can be cancelled", async () => {
  const rollout = await program.call("Rollout", { image });
  const cancelled = await program.call("Cancel");

  expect(rollout.body).toMatchObject({
    state: "paused",
    reason: expect.stringContaining("unreachable"),
  });
  expect(cancelled.body).toMatchObject({ state: "cancelled" });
});

it("lists the fleet by itself once it answers", async () => {
  fleet = await startFakeFleet({ size: 5, port });

  await waitFor(async () => (await list()).sentinels.length === 5, {
    withinMs: 60_000,
    what: "the fleet to be listed",
  });

  expect(await list()).not.toHaveProperty("list_problem");
});
