/** The counts and the search of a fleet, in a real Postgres with ten thousand sentinels. */
import { beforeAll, describe, expect, it } from "vitest";
import { FleetSearch } from "#fleet/overview/contract.ts";
import { createFleetOverview } from "#fleet/overview/reader.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";

const app = (version: string) => `registry.example.com/team/app:${version}`;
const digest = `@sha256:${"a".repeat(64)}`;

const { database } = prepareDatabase();

const read = (search: Partial<FleetSearch> = {}, fleet = "singleton") =>
  createFleetOverview(database())(fleet, FleetSearch.parse(search));

beforeAll(async () => {
  await database().query(
    `INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, labels)
     SELECT 'gw-' || lpad(n::text, 5, '0'), (ARRAY['ap', 'eu', 'us'])[n % 3 + 1],
       CASE WHEN n <= 9000 THEN $1 ELSE $2 END, CASE WHEN n <= 9000 THEN $1 ELSE $3 END,
       'ready', 'healthy',
       jsonb_build_object('tier', CASE WHEN n <= 10 THEN 'canary' ELSE 'stable' END)
     FROM generate_series(1, 10000) AS n`,
    [app("v1"), app("v2"), `${app("v2")}${digest}`],
  );
  await database().query(`
    UPDATE sentinels SET image = '${app("v2")}', deploy_status = 'failed', deploy_reason = 'crash_loop'
    WHERE id IN ('gw-00001', 'gw-00002', 'gw-00003');
    UPDATE sentinels SET image = '${app("v2")}', deploy_status = 'progressing' WHERE id = 'gw-00004';
    UPDATE sentinels SET image = '${app("v2")}' WHERE id = 'gw-00005';
    UPDATE sentinels SET health = 'unhealthy' WHERE id IN ('gw-00006', 'gw-00001');
    INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, fleet)
    VALUES ('lab:1', 'eu', '${app("v9")}', '${app("v9")}', 'ready', 'healthy', 'lab');
    UPDATE fleet_lists SET problem = 'it lists 3 of 10000', problem_at = '2026-01-01T00:00:00Z';
    ANALYZE sentinels`);
});

const countsOf = (choices: { value: string; count: number }[]) =>
  Object.fromEntries(choices.map(({ value, count }) => [value, count]));

describe("a fleet of ten thousand", () => {
  it("is counted by region and image, without those of other fleets", async () => {
    const { total, versions, more_regions } = await read();

    expect(total).toBe(10_000);
    expect(more_regions).toBe(0);
    expect(versions).toEqual([
      { region: "ap", image: app("v1"), count: 3_000 },
      { region: "ap", image: `${app("v2")}${digest}`, count: 333 },
      { region: "eu", image: app("v1"), count: 3_000 },
      { region: "eu", image: `${app("v2")}${digest}`, count: 334 },
      { region: "us", image: app("v1"), count: 3_000 },
      { region: "us", image: `${app("v2")}${digest}`, count: 333 },
    ]);
  });

  it("says what was ordered and does not run; a digest alone is no difference", async () => {
    const { differences, unhealthy, states } = await read({ search: "of no sentinel" });

    expect(differences).toEqual([
      { ordered: app("v2"), running: app("v1"), deploying: 1, failed: 3, differs: 1 },
    ]);
    expect(unhealthy).toBe(2);
    expect(states).toEqual({
      as_ordered: 9_995,
      deploying: 1,
      failed: 3,
      differs: 1,
    });
  });

  it.each([
    ["by its digest alone", "as_ordered", `registry.example.com/team/app${digest}`],
    ["through a mirror", "as_ordered", `mirror.example.com/team/app:v2${digest}`],
    ["by its tag alone", "as_ordered", app("v2")],
    ["by the name of a host in capitals", "as_ordered", `Registry.Example.COM/team/app:v2`],
    ["by a tag with another digest", "differs", `${app("v2")}@sha256:${"b".repeat(64)}`],
    ["by the tag of another registry", "differs", "mirror.example.com/team/app:v2"],
  ])("says of one that runs what was ordered %s that it is %s", async (name, state, running) => {
    const fleet = `of one ${name}`;
    await database().query(
      `INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, fleet)
       VALUES ($1 || ':1', 'eu', $2, $3, 'ready', 'healthy', $1)`,
      [fleet, `${app("v2")}${digest}`, running],
    );

    const { sentinels } = await read({}, fleet);

    expect(sentinels.map((one) => one.state)).toEqual([state]);
  });

  it("is searched by words in ids and labels, all of which have to be there", async () => {
    const byId = await read({ search: "W-0000" });
    const byLabel = await read({ search: "tier=canary" });
    const byBoth = await read({ search: " 007  TIER=canary " });

    expect(byId.found).toBe(9);
    expect(byLabel.found).toBe(10);
    expect(byBoth.sentinels.map(({ id }) => id)).toEqual(["gw-00007"]);
  });

  it.each(["%", "_", "\\", "' OR true --"])(
    "finds nothing by %j, which no id has",
    async (search) => {
      expect((await read({ search })).found).toBe(0);
    },
  );

  it("counts what each choice of a filter would find with the others as they are", async () => {
    const { found, choices } = await read({ state: "failed", region: "eu" });

    expect(found).toBe(1);
    expect(countsOf(choices.region)).toEqual({ ap: 1, eu: 1, us: 1 });
    expect(countsOf(choices.state)).toEqual({
      as_ordered: 3_332,
      deploying: 1,
      differs: 0,
      failed: 1,
    });
    expect(countsOf(choices.health)).toEqual({ healthy: 0, unhealthy: 1 });
  });

  it("comes in pages, each sentinel on one of them", async () => {
    const search = { region: "us", image: app("v1"), limit: 200 };
    const seen = new Set<string>();

    for (let page = 1; page <= 15; page += 1) {
      const { sentinels } = await read({ ...search, page });
      for (const { id } of sentinels) seen.add(id);
    }

    expect(seen.size).toBe(3_000);
    expect((await read({ ...search, page: 1_000 })).sentinels).toEqual([]);
  });

  it("has what a row needs, and what is wrong with the fleet's list", async () => {
    const { sentinels, list } = await read({ search: "gw-00001" });

    expect(sentinels).toEqual([
      {
        id: "gw-00001",
        region: "eu",
        image: app("v2"),
        running_image: app("v1"),
        state: "failed",
        deploy_reason: "crash_loop",
        health: "unhealthy",
        labels: { tier: "canary" },
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      },
    ]);
    expect(list).toEqual({
      asked_at: null,
      problem: "it lists 3 of 10000",
      problem_at: "2026-01-01T00:00:00.000Z",
    });
  });

  it("is answered within half of the time between two polls, in less than 20 kB", async () => {
    await read();
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const startedMs = performance.now();
      await read({ search: "gw tier=stable" });
      times.push(performance.now() - startedMs);
    }

    expect(Math.min(...times)).toBeLessThan(2_500);
    expect(JSON.stringify(await read()).length).toBeLessThan(20_000);
  });
});

describe("other fleets", () => {
  it("have their own counts, and one without sentinels is empty", async () => {
    const lab = await read({}, "lab");
    const none = await read({}, "none");

    expect(lab.versions).toEqual([{ region: "eu", image: app("v9"), count: 1 }]);
    expect(none).toMatchObject({ total: 0, found: 0, sentinels: [], versions: [] });
    expect(none.list).toEqual({ asked_at: null, problem: null, problem_at: null });
  });

  it("of many images count the first five, and the others together", async () => {
    await database().query(
      `INSERT INTO sentinels (id, region, image, running_image, deploy_status, health, fleet)
       SELECT 'wild:' || n, 'r-' || n % 150, 'app:v' || n % 40, 'app:v' || n % 40, 'ready', 'healthy', 'wild'
       FROM generate_series(1, 600) AS n`,
    );

    const { versions, more_regions } = await read({}, "wild");

    expect(more_regions).toBe(50);
    expect(new Set(versions.map(({ image }) => image)).size).toBe(6);
    expect(new Set(versions.map(({ region }) => region)).size).toBe(100);
    expect(versions.reduce((sum, { count }) => sum + count, 0)).toBe(400);
  });
});
