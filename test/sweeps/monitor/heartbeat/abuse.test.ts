/** Pings in orders that nobody would choose, and jobs that say more than that they ran. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 600, graceSeconds: 600 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const register = async (bench: Bench) => (await registerJob(bench, "nightly")).ping;

it("a run that said when it began is measured although all was well before it", async () => {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const ping = await register(bench);
  await ping();
  await bench.untilWell("nightly");

  await ping("/start");
  const startedMs = Date.now();
  await waitFor(() => Date.now() - startedMs > 300, { withinMs: 1_000, what: "the job" });
  await ping();
  const snapshot = await waitFor(
    async () => {
      const found = await bench.snapshot("nightly");
      return found.lastDurationMs !== null && found;
    },
    { withinMs: 5_000, what: "the duration" },
  );

  expect(snapshot.lastDurationMs).toBeGreaterThanOrEqual(290);
});

it("only a run that said when it began has a duration in the record", async () => {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const ping = await register(bench);
  await ping("/start");
  const startedMs = Date.now();
  await waitFor(() => Date.now() - startedMs > 100, { withinMs: 1_000, what: "the job" });
  await ping("/fail");

  await ping();
  await bench.untilResults(2);

  const { rows } = await bench.database.query(
    "SELECT duration_ms FROM check_results ORDER BY scheduled_at",
  );
  expect(rows[0].duration_ms).toBeGreaterThanOrEqual(100);
  expect(rows[1].duration_ms).toBe(0);
});

it("pings that were not decided count for the run that fails after them", async () => {
  const often = aHeartbeat({ id: "nightly", periodSeconds: 1, graceSeconds: 60 });
  const bench = await startMonitorBench({ heartbeats: [often] });
  const ping = await register(bench);
  await ping();
  await bench.untilWell("nightly");
  const firstMs = Date.now();
  await waitFor(() => Date.now() - firstMs > 2_500, { withinMs: 5_000, what: "two periods" });
  await ping();

  await ping("/fail");
  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(bench.orders[1]?.transition.missedPings).toBe(0);
});

it("many starts, failures and ends at once leave the heartbeat as its last ping says", async () => {
  const bench = await startMonitorBench({ heartbeats: [heartbeat] });
  const ping = await register(bench);
  await ping();
  await bench.untilWell("nightly");

  // Those beyond twenty a second are refused.
  for (let round = 0; round < 10; round += 1) {
    await Promise.allSettled(["/start", "", "/fail", "/start", ""].map((suffix) => ping(suffix)));
  }
  const lastMs = Date.now();
  await waitFor(() => Date.now() > lastMs, { withinMs: 1_000, what: "a later millisecond" });
  await ping();
  const snapshot = await waitFor(
    async () => {
      const found = await bench.snapshot("nightly");
      return found.lastAtMs > lastMs && found.alert === null && found;
    },
    { withinMs: 20_000, what: "the last ping" },
  );

  expect(snapshot.status).toBe("ok");
  expect(snapshot.lastDurationMs ?? 0).toBeGreaterThanOrEqual(0);
  const { episodes: count } = (await bench.row("nightly")).state;
  await bench.untilOrders(2 * count);
  const kinds = bench.orders.map(({ transition }) => `${transition.episode} ${transition.kind}`);
  const episodes = Array.from({ length: count }, (_, i) => i + 1);
  expect(kinds).toEqual(episodes.flatMap((n) => [`${n} opened`, `${n} resolved`]));
});
