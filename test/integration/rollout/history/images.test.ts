/** The images that a fleet has seen, in a real Postgres. */
import { beforeEach, describe, expect, it } from "vitest";
import { createImageReader } from "#rollout/history/reader.ts";
import { prepareDatabase } from "../../../support/run/prepare-database.ts";

const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query("DELETE FROM rollouts; DELETE FROM sentinels");
});

const read = (fleet = "singleton") => createImageReader(database())(fleet);

const rolledOut = (id: string, image: string, second: number, outcome: string | null) =>
  database().query(
    `INSERT INTO rollouts (id, image, requested_image, wave_percentages, state, outcome, started_at, updated_at,
       succeeded, failed)
     VALUES ($1, $2, $2, '{100}', 'completed', $3, $4, $4, 7, 1)`,
    [id, image, outcome, new Date(Date.UTC(2026, 0, 1, 0, 0, second))],
  );

const runs = (
  count: number,
  image: string,
  { before = null as string | null, fleet = "singleton" } = {},
) =>
  database().query(
    `INSERT INTO sentinels (id, region, image, running_image, previous_image, deploy_status, health, fleet)
     SELECT gen_random_uuid(), 'eu', $2, $2, $3, 'ready', 'healthy', $4 FROM generate_series(1, $1::int)`,
    [count, image, before, fleet],
  );

describe("the images that were seen", () => {
  it("are each once, with the newest rollout and how many run it", async () => {
    await rolledOut("r-1", "app:v1", 1, "completed");
    await rolledOut("r-2", "app:v2", 2, "rolled_back");
    await rolledOut("r-3", "app:v1", 3, "completed");
    await runs(4, "app:v1", { before: "app:v0" });
    await runs(2, "app:legacy");

    const images = await read();

    expect(images.map(({ image, running, rollout }) => [image, running, rollout?.id])).toEqual([
      ["app:v1", 4, "r-3"],
      ["app:v2", 0, "r-2"],
      ["app:legacy", 2, undefined],
      ["app:v0", 0, undefined],
    ]);
    expect(images[1]?.rollout).toEqual({
      id: "r-2",
      started_at: "2026-01-01T00:00:02.000Z",
      state: "completed",
      outcome: "rolled_back",
      succeeded: 7,
      failed: 1,
    });
  });

  it("are each once, although the fleet calls what it runs by another name", async () => {
    const digest = `@sha256:${"b".repeat(64)}`;
    await rolledOut("r-1", `r.io/app:v1${digest}`, 1, "completed");
    await runs(4, `r.io/app${digest}`);

    const images = await read();

    expect(images.map(({ image, running, rollout }) => [image, running, rollout?.id])).toEqual([
      [`r.io/app:v1${digest}`, 4, "r-1"],
    ]);
  });

  it("are those of one fleet", async () => {
    await runs(1, "app:lab", { fleet: "lab" });

    expect(await read()).toEqual([]);
    expect((await read("lab")).map(({ image }) => image)).toEqual(["app:lab"]);
  });

  it("are fifty at most, among them all that run", async () => {
    for (let n = 1; n <= 60; n += 1) await rolledOut(`r-${n}`, `app:v${n}`, n, "completed");
    await runs(1, "app:legacy");

    const images = await read();

    expect(images).toHaveLength(50);
    expect(images[0]?.image).toBe("app:v60");
    expect(images.at(-1)?.image).toBe("app:legacy");
  });
});
