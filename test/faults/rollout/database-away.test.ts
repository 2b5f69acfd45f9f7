/** What is asked while Postgres is away. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RolloutBench, startRolloutBench } from "../../support/rollout/rollout-bench.ts";
import { imageV1, imageV2 } from "../../support/rollout/rollout-builders.ts";
import { waitFor } from "../../support/wait-for.ts";

describe("while Postgres is away", { retry: 0 }, () => {
  let bench: RolloutBench;

  beforeAll(async () => {
    bench = await startRolloutBench({ size: 2, killsPostgres: true });
    await bench.call("Rollout", { image: imageV2 });
    await waitFor(async () => (await bench.database.query(endedStops)).rows[0].n === 1, {
      withinMs: 10_000,
      what: "the run's stop",
    });
    await bench.postgres.kill9();
  });

  afterAll(() => bench.stop());

  it.each([
    ["History", () => bench.call("History"), "history cannot be read now"],
    [
      "List",
      () => bench.post("vedette.v1.FleetService/List", {}),
      "the sentinels cannot be listed",
    ],
    ["Plan", () => bench.call("Plan", { image: imageV1 }), "the database cannot be reached"],
  ])("%s is refused as unavailable", async (_, ask, words) => {
    const { status, body } = await ask();

    expect(status).toBe(503);
    expect(body["metadata"]).toEqual({ code: "unavailable" });
    expect(body["message"]).toContain(words);
  });

  it("a rollout pauses and says that the database cannot be reached", async () => {
    await bench.send("Rollout", { image: imageV1 });

    const paused = await waitFor(
      async () => {
        const { body } = await bench.call("Status");
        return body.state === "paused" && body;
      },
      { withinMs: 20_000, what: "the pause" },
    );

    expect(paused["reason"]).toContain("the database cannot be reached");
  });

  it("what was begun can be cancelled once it is back", async () => {
    await bench.postgres.restart();

    expect(await bench.call("Cancel")).toMatchObject({ status: 200, body: { state: "cancelled" } });
    expect((await bench.call("History")).status).toBe(200);
  });
});

const endedStops = "SELECT count(*)::int AS n FROM stopped_runs";
