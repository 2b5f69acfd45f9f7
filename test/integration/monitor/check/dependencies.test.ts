import { describe, expect, it } from "vitest";
import { aHeartbeat, anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const dependsOn = [{ id: "database", kind: "api" as const }];
const shop = { id: "shop", name: "Shop", path: "/shop", dependsOn, failedAboveMs: 800 };
const database = { id: "database", name: "Database", path: "/database", failedAboveMs: 800 };

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const failing = (bench: Bench, ...paths: string[]) =>
  bench.target.answers(({ url = "" }, outgoing) => {
    outgoing.writeHead(paths.includes(url) ? 500 : 200).end("{}");
  });
const eventsOf = (bench: Bench) => bench.orders.map(({ transition }) => transition.eventId);
const until = (what: string, isSo: () => Promise<boolean>) =>
  waitFor(isSo, { withinMs: 40_000, what });
/** Of each time in which it was suppressed: by what, and whether it is over. */
async function spansOf({ database }: Bench, id: string): Promise<[string, boolean][]> {
  const { rows } = await database.query(
    "SELECT suppressed_by, ended_at FROM check_suppressions WHERE check_id = $1 ORDER BY began_at",
    [id],
  );
  return rows.map(({ suppressed_by, ended_at }) => [suppressed_by, ended_at !== null]);
}
const untilSuppressed = (bench: Bench, by: string | undefined, id = "shop") =>
  until(`${id} suppressed by ${by}`, async () => (await bench.snapshot(id))?.suppressed?.by === by);

it.each([
  ["before", 1, 4],
  ["after", 4, 1],
])(
  "alerts once when the check fails %s what it depends on",
  async (_, shopEvery, databaseEvery) => {
    const apiChecks = [
      anApiCheck({ ...shop, frequencySeconds: shopEvery }),
      anApiCheck({ ...database, frequencySeconds: databaseEvery }),
    ];
    const bench = await startMonitorBench({ apiChecks });
    await bench.start();
    await bench.untilResults(6);

    failing(bench, "/shop", "/database");
    await untilSuppressed(bench, "database");

    expect(eventsOf(bench)).toEqual(["database:1:opened"]);
    expect(await spansOf(bench, "shop")).toEqual([["database", false]]);
    failing(bench, "/shop");
    await bench.untilOrders(3);
    expect(eventsOf(bench).toSorted()).toEqual([
      "database:1:opened",
      "database:1:resolved",
      "shop:1:opened",
    ]);
    // The snapshot is written after the event was sent.
    await untilSuppressed(bench, undefined);
    expect(await spansOf(bench, "shop")).toEqual([["database", true]]);
  },
);

it("alerts when what it depends on turns out well, although the worker was ended meanwhile", async () => {
  const apiChecks = [
    anApiCheck({ ...shop, frequencySeconds: 1 }),
    anApiCheck({ ...database, frequencySeconds: 10 }),
  ];
  const bench = await startMonitorBench({ apiChecks });
  await bench.start();
  await until(
    "a run of the database",
    async () => (await bench.snapshot("database"))?.lastAtMs > 0,
  );
  const isFailed = async () => (await bench.snapshot("shop"))?.status === "failed";

  failing(bench, "/shop");
  await until("a failed run", isFailed);
  const before = eventsOf(bench);
  await bench.stopWatch();
  await bench.start();
  await bench.untilOrders(1);

  expect(before).toEqual([]);
  expect(eventsOf(bench)).toEqual(["shop:1:opened"]);
});

it("records a suppression that began while its table was locked, and is over since", async () => {
  const apiChecks = [
    anApiCheck({ ...shop, frequencySeconds: 1 }),
    anApiCheck({ ...database, frequencySeconds: 1 }),
  ];
  const bench = await startMonitorBench({ apiChecks });
  await bench.start();
  await bench.untilResults(4);
  const client = await bench.database.connect();
  try {
    await client.query("BEGIN; LOCK TABLE check_suppressions IN EXCLUSIVE MODE");

    failing(bench, "/shop", "/database");
    await until("a decision that waits", async () => {
      const { rows } = await bench.database.query(
        `SELECT FROM pg_locks WHERE NOT granted AND relation = 'check_suppressions'::regclass
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return rows.length > 0;
    });
    bench.target.isWell();
  } finally {
    await client.query("COMMIT");
    client.release();
  }

  await until("the suppression to be over", async () => {
    const [span] = await spansOf(bench, "shop");
    return span?.[1] === true;
  });
  expect(await spansOf(bench, "shop")).toEqual([["database", true]]);
  expect(await bench.recorded("shop")).toBeNull();
});

describe("a heartbeat that is suppressed", () => {
  const apiChecks = [anApiCheck({ ...database, frequencySeconds: 1 })];

  async function suppressedJob(): Promise<Bench> {
    const heartbeats = [aHeartbeat({ id: "job", periodSeconds: 1, graceSeconds: 1, dependsOn })];
    const bench = await startMonitorBench({ apiChecks, heartbeats });
    failing(bench, "/database");
    await bench.start();
    await bench.untilOrders(1);
    await bench.call("vedette.v1.Heartbeat/job/Register", { token_hash: "a".repeat(64) });
    await untilSuppressed(bench, "database", "job");
    return bench;
  }

  it("alerts when what it depends on has recovered", async () => {
    const bench = await suppressedJob();
    const before = eventsOf(bench);
    bench.target.isWell();
    await bench.untilOrders(3);

    expect(before).toEqual(["database:1:opened"]);
    expect(eventsOf(bench)).toEqual(["database:1:opened", "database:1:resolved", "job:1:opened"]);
  });

  it("is so no longer when it is removed", async () => {
    const bench = await suppressedJob();

    bench.define({ apiChecks, heartbeats: [] });
    await bench.start();

    await untilSuppressed(bench, undefined, "job");
    expect(await spansOf(bench, "job")).toEqual([["database", true]]);
  });
});
