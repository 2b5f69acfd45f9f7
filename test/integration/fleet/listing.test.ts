/** What the fleet lists, written down in a real Postgres. */
import { Registry } from "prom-client";
import { beforeEach, describe, expect, it } from "vitest";
import { createDeployer } from "#fleet/deploys/deployer.ts";
import type { ListedSentinel } from "#fleet/drivers/driver.ts";
import { createListStore } from "#fleet/list-store.ts";
import { createFleetStore } from "#fleet/store.ts";
import { createTestListing } from "../../support/rollout/fleet-listing.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { waitFor } from "../../support/wait-for.ts";

const v1 = "registry.example.com/vedette/sentinel:v1";
const v2 = "registry.example.com/vedette/sentinel:v2";

const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query("DELETE FROM sentinels");
  await database().query("UPDATE fleet_lists SET asked_at = NULL, problem = NULL");
});

const sentinel = (n: number, image = v1): ListedSentinel => ({
  id: `gw-${n}`,
  region: "eu",
  image,
  running_image: image,
  healthy: true,
});

const fleetOf = (size: number, image = v1) =>
  Array.from({ length: size }, (_, i) => sentinel(i + 1, image));

/** A listing that takes what `answer` gives. */
const listingOf = (answer: () => ListedSentinel[] | Promise<ListedSentinel[]>, limit = 49) =>
  createTestListing(database(), { list: async () => answer() }, { maxMissingPercent: limit });

const rows = async () =>
  (await database().query("SELECT id, running_image FROM sentinels ORDER BY id")).rows;

describe("a list", () => {
  it("that names a sentinel on two pages is taken, with the later entry", async () => {
    const listing = listingOf(() => [sentinel(1), sentinel(2), sentinel(1, v2)]);

    await listing.list();

    expect(await rows()).toEqual([
      { id: "gw-1", running_image: v2 },
      { id: "gw-2", running_image: v1 },
    ]);
  });

  it("that was asked for before a newer one was written changes nothing", async () => {
    const asked = Promise.withResolvers<ListedSentinel[]>();
    const started = Promise.withResolvers<void>();
    const older = listingOf(() => {
      started.resolve();
      return asked.promise;
    }).list();
    await started.promise;
    await listingOf(() => fleetOf(3, v2)).list();

    asked.resolve(fleetOf(2, v1));
    const members = await older;

    expect(members.map(({ id, running_image }) => ({ id, running_image }))).toEqual(await rows());
    expect(await rows()).toHaveLength(3);
    expect((await rows()).every(({ running_image }) => running_image === v2)).toBe(true);
  });

  it("is taken although the clock of Postgres was set back since the one before", async () => {
    await listingOf(() => fleetOf(4, v1)).list();
    await database().query("UPDATE fleet_lists SET asked_at = now() + interval '5 hours'");
    await database().query("UPDATE sentinels SET updated_at = now() + interval '5 hours'");

    await listingOf(() => fleetOf(3, v2)).list();
    await listingOf(() => fleetOf(5, v2)).list();

    expect(await rows()).toEqual(
      [1, 2, 3, 4, 5].map((n) => ({ id: `gw-${n}`, running_image: v2 })),
    );
  });

  it("that was asked for before the clock was set back undoes none from after it", async () => {
    await listingOf(() => fleetOf(4, v2)).list();
    const { rows: clock } = await database().query(
      "SELECT (now() + interval '5 hours')::text AS at",
    );
    const older = { askedAt: clock[0].at as string, sentinels: fleetOf(3, v1) };

    const terms = { fleet: "singleton", maxMissingPercent: 100, keepsLogs: true };
    await createListStore(database(), terms).write(older);

    expect(await rows()).toEqual([1, 2, 3, 4].map((n) => ({ id: `gw-${n}`, running_image: v2 })));
  });

  it("that was asked for before a deploy ended does not undo what the deploy wrote", async () => {
    await listingOf(() => fleetOf(2)).list();
    const driver = {
      apply: async () => ({}),
      observe: async () => ({ status: "ready" as const, running_image: v2 }),
    };
    const deployer = createDeployer({ ...driver } as never, createFleetStore(database()));
    const listing = listingOf(async () => {
      const before = fleetOf(2);
      await deployer.start({ sentinelId: "gw-1", image: v2, deployId: "d1" }, 5_000);
      return before;
    });

    await listing.list();

    expect(await rows()).toEqual([
      { id: "gw-1", running_image: v2 },
      { id: "gw-2", running_image: v1 },
    ]);
  });

  it.each([
    ["progressing", undefined, v1],
    ["failed", undefined, v1],
    ["ready", undefined, v2],
    ["progressing", v2, v2],
    ["failed", v2, v2],
  ])(
    "of a sentinel whose deploy is %s that names %s as the running one: %s runs",
    async (status, named, running) => {
      await listingOf(() => fleetOf(1)).list();
      const ordered = "UPDATE sentinels SET image = $1, deploy_status = $2";
      await database().query(ordered, [v2, status]);

      await listingOf(() => [{ ...sentinel(1, v2), running_image: named }]).list();

      expect(await rows()).toEqual([{ id: "gw-1", running_image: running }]);
    },
  );

  it.each([
    ["empty", 0],
    ["halved", 2],
  ])("that is suddenly %s is refused, and changes nothing", async (_, size) => {
    await listingOf(() => fleetOf(4)).list();

    const refused = listingOf(() => fleetOf(size)).list();

    await expect(refused).rejects.toMatchObject({ code: "fleet_list_refused", status: 409 });
    expect(await rows()).toHaveLength(4);
  });

  it("that is short for good reason is taken where the setting says so", async () => {
    await listingOf(() => fleetOf(4)).list();

    await listingOf(() => [], 100).list();

    expect(await rows()).toEqual([]);
  });

  it("that is as large but of other sentinels is refused too", async () => {
    await listingOf(() => fleetOf(4)).list();
    const others = fleetOf(4).map((one) => ({ ...one, id: `other-${one.id}` }));

    await expect(listingOf(() => others).list()).rejects.toThrow("lacks 4 of the 4 known ones");
  });
});

describe("a list with other names for the images", () => {
  const digest = `@sha256:${"b".repeat(64)}`;
  const ordered = `${v2}${digest}`;
  const { running_image: _, ...unknown } = sentinel(1);

  const deployed = async (status: "ready" | "failed") => {
    await listingOf(() => fleetOf(1)).list();
    const store = createFleetStore(database());
    const record = { id: "gw-1", image: ordered };
    await store.record({ ...record, status: "progressing", deployId: "d-1" });
    await store.record({ ...record, status, endedId: "d-1" });
    return store;
  };

  const member = async () =>
    (await database().query("SELECT image, running_image, previous_image FROM sentinels")).rows[0];

  it("keeps the name by which the image was ordered", async () => {
    await deployed("ready");

    await listingOf(() => [sentinel(1, `${v2.replace(/:v2$/, "")}${digest}`)]).list();

    expect(await member()).toMatchObject({ image: ordered });
  });

  it("takes no image that has failed for the one that runs", async () => {
    await deployed("failed");

    await listingOf(() => [{ ...unknown, image: `mirror.example.com/app${digest}` }]).list();

    expect(await member()).toMatchObject({ image: ordered, running_image: v1 });
  });

  it("tells of a failure that the next deploy of the image may meet again", async () => {
    const store = await deployed("failed");
    await listingOf(() => [{ ...unknown, image: v2 }]).list();

    const { failedBefore } = await store.record({
      id: "gw-1",
      image: ordered,
      status: "progressing",
      deployId: "d-2",
    });

    expect(failedBefore).toBe(true);
  });

  it("is believed when it has another image of the tag", async () => {
    await deployed("ready");
    const other = `${v2}@sha256:${"c".repeat(64)}`;

    await listingOf(() => [sentinel(1, other)]).list();

    expect(await member()).toMatchObject({ image: other, running_image: other });
  });
});

describe("statements that write many rows", () => {
  const deploys = () => {
    const { record } = createFleetStore(database());
    const write = (id: string) => record({ id, image: v2, status: "progressing", deployId: id });
    // The first one goes out by itself, the others as a group.
    return Promise.all(["gw-4", "gw-3", "gw-2", "gw-1"].map(write));
  };

  it.each([
    ["a list", () => listingOf(() => fleetOf(4, v2).reverse()).list()],
    ["deploys", deploys],
  ])("locks them by id: %s", async (_, write) => {
    await listingOf(() => fleetOf(4)).list();
    const other = await database().connect();
    await other.query("BEGIN");
    await other.query("UPDATE sentinels SET region = 'us' WHERE id = 'gw-1'");
    const written = write();
    const waiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await waitFor(async () => (await database().query(waiting)).rowCount === 1, {
      withinMs: 30_000,
      what: "the writer to wait for the first row",
    });

    const others = await other.query(
      "SELECT id FROM sentinels WHERE id IN ('gw-2', 'gw-3') ORDER BY id FOR UPDATE SKIP LOCKED",
    );

    await other.query("COMMIT");
    other.release();
    await written;
    expect(others.rows).toEqual([{ id: "gw-2" }, { id: "gw-3" }]);
    const { rows } = await database().query("SELECT FROM sentinels WHERE image = $1", [v2]);
    expect(rows).toHaveLength(4);
  });
});

describe("a refused list", () => {
  it("is reported to readers of the fleet, until a list is accepted", async () => {
    await listingOf(() => fleetOf(4)).list();
    const short = listingOf(() => fleetOf(1));
    await short.list().catch(() => {});

    const during = await short.problem();
    await listingOf(() => fleetOf(4)).list();

    expect(during).toContain("vedette sentinels confirm 1");
    expect(await short.problem()).toBeNull();
  });

  it("is taken once someone confirms how many it has", async () => {
    await listingOf(() => fleetOf(4)).list();
    const short = listingOf(() => fleetOf(1));
    await short.list().catch(() => {});

    await short.confirm(1, "ada");

    expect(await rows()).toEqual([{ id: "gw-1", running_image: v1 }]);
    expect(await short.problem()).toBeNull();
    expect((await short.confirmation())?.by).toBe("ada");
  });

  it("is not taken by a confirmation of another number", async () => {
    await listingOf(() => fleetOf(4)).list();

    const short = listingOf(() => fleetOf(1));
    const confirmed = short.confirm(2, "grace");

    await expect(confirmed).rejects.toMatchObject({ code: "fleet_list_changed" });
    expect(await rows()).toHaveLength(4);
    expect(await short.problem()).toBeNull();
    expect((await short.confirmation())?.by).not.toBe("grace");
  });

  it("keeps the name of who confirmed it when later lists are taken", async () => {
    const listing = listingOf(() => fleetOf(4));
    await listing.confirm(4, "ada");
    const confirmed = await listing.confirmation();

    await listing.list();

    expect(await listing.confirmation()).toEqual(confirmed);
  });
});

describe("keeping up", () => {
  it("continues after failures, and takes the fleet once it answers", async () => {
    let tries = 0;
    const listing = listingOf(() => {
      tries++;
      if (tries === 1) throw new Error("unreachable: away");
      return fleetOf(3);
    });

    const refresh = listing.refreshEvery(60_000);
    await refresh.first;
    const problem = await listing.problem();
    await waitFor(async () => (await rows()).length === 3, {
      withinMs: 30_000,
      what: "the fleet to be listed",
    });
    await refresh.stop();

    expect(problem).toBe("unreachable: away");
    expect(await listing.problem()).toBeNull();
  });

  it("shows in the metrics whether the list is taken", async () => {
    const registry = new Registry();
    const driver = { list: async () => fleetOf(3) };
    const listing = createTestListing(database(), driver, { registry });

    await listing.list();

    expect(await registry.metrics()).toContain('vedette_fleet_sentinels{fleet="singleton"} 3');
    expect(await registry.metrics()).toContain('vedette_fleet_list_failing{fleet="singleton"} 0');
  });
});
