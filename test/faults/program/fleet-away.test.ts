/** The program while the API of its fleet is down. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../support/free-port.ts";
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
    list_problem: "unreachable: ECONNREFUSED on the way to the fleet",
  });
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
