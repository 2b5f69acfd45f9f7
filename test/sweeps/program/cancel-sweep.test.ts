/** Kills the program's parts right after Cancel has answered: nothing new may be ordered from then on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { killAndRestart, killings } from "../../support/program/kill-and-restart.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { type FakeFleet, startFakeFleet } from "../../support/rollout/fake-fleet.ts";
import { waitFor } from "../../support/wait-for.ts";

const size = 80;

/** What is killed, and after how many orders the rollout is cancelled. */
const kills = killings(
  [1, 25, 45],
  [["main"], ["restate"], ["main", "restate"], ["main", "restate", "postgres"]],
);

let program: Program;
let fleet: FakeFleet;
let imageNumber = 1;

beforeAll(async () => {
  fleet = await startFakeFleet({ size, behave: () => ({ readyAfterMs: 150 }) });
  program = await startProgram({
    ...fleet.environment(),
    VEDETTE_ROLLOUT__MAX_PARALLEL: "20",
    VEDETTE_ROLLOUT__REQUIRE_IMAGE_IN_REGISTRY: "false",
  });
});

afterAll(async () => {
  await program?.dispose();
  await fleet?.stop();
});

const orderedIds = (image: string) =>
  new Set(fleet.puts.filter((put) => put.image === image).map(({ id }) => id));

const untilCancelled = () =>
  waitFor(
    async () => {
      const { body } = await program.call("Status").catch(() => ({ body: {} }));
      const status = body as Record<string, unknown>;
      return status["state"] === "cancelled" && status["in_flight"] === 0 && status;
    },
    { withinMs: 90_000, what: "the cancelled rollout to stand still" },
  );

describe("a Cancel that has answered", { retry: 0 }, () => {
  it.each(kills)("holds although %j is killed, after %i orders", async (parts, orders) => {
    const image = `registry.example.com/vedette/sentinel:c${++imageNumber}`;
    await program.call("Rollout/send", { image, wave_percentages: [100] });
    await waitFor(() => orderedIds(image).size >= orders, {
      withinMs: 60_000,
      what: `${orders} orders`,
    });

    const cancelled = await program.call("Cancel");
    const before = orderedIds(image);
    await killAndRestart(program, parts);
    const status = await untilCancelled();

    expect(cancelled).toMatchObject({ status: 200, body: { state: "cancelled" } });
    expect(Number(cancelled.body["in_flight"])).toBeLessThanOrEqual(before.size);
    expect([...orderedIds(image).difference(before)]).toEqual([]);
    expect(status).toMatchObject({ succeeded: before.size, failed: 0 });
  });
});
