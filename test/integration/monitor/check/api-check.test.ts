import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { watchStates } from "#monitor/start.ts";
import { anApiCheck } from "../../../support/monitor/check-builders.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { modes } from "../../../support/replay.ts";
import { waitFor } from "../../../support/wait-for.ts";

const check = anApiCheck({ id: "probe", frequencySeconds: 1, locations: ["eu-central-1"] });
const object = "vedette.v1.ApiCheck/probe";

const transitions = (orders: { transition: { kind: string; episode: number } }[]) =>
  orders.map(({ transition: { kind, episode } }) => `${kind} ${episode}`);

describe.each(modes)("an API check, $mode", ({ alwaysReplay }) => {
  it("runs once per tick of its grid", async () => {
    const bench = await startMonitorBench({ apiChecks: [check], alwaysReplay });

    await bench.start();
    await bench.untilResults(4);

    const ticks = (await bench.results()).map(({ atMs }) => atMs);
    const [first = 0] = ticks;
    expect(ticks).toEqual(ticks.map((_, n) => first + n * 1_000));
    expect(bench.orders).toEqual([]);
  });

  it("alerts at the first failed run, and resolves at the first that is not", async () => {
    const bench = await startMonitorBench({ apiChecks: [check], alwaysReplay });
    bench.target.fails();

    await bench.start();
    await bench.untilOrders(1);
    bench.target.isWell();
    await bench.untilOrders(2);
    const seen = (await bench.results()).length;
    await bench.untilResults(seen + 2);

    expect(transitions(bench.orders)).toEqual(["opened 1", "resolved 1"]);
    expect(bench.orders[0]).toMatchObject({
      environment: "production",
      channel: "production",
      name: "Verify key",
      transition: {
        checkId: "probe",
        reason: "local: answered 500, expected 200",
        locations: ["local"],
      },
    });
  });
});

describe("an API check", () => {
  it("has one timer however often a worker starts, and however many watch it", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });

    for (let n = 0; n < 5; n += 1) await bench.start();
    for (let n = 0; n < 3; n += 1) {
      const outage = {
        failed: () => {},
        over: async () => {},
        settled: () => {},
        allDecided: () => {},
      };
      const watch = watchStates({ states: bench.states, outage, log: pino({ level: "silent" }) });
      onTestFinished(watch.stop);
    }
    await bench.untilResults(3);

    const ticks = bench.target.seen.length;
    const perTick = await bench.database.query(
      "SELECT count(*)::int AS n FROM check_results GROUP BY scheduled_at",
    );
    expect(perTick.rows.map(({ n }) => n)).toEqual(perTick.rows.map(() => 1));
    expect(ticks).toBeLessThanOrEqual(perTick.rows.length + 1);
  });

  it("needs no Restate, and records the ticks that it missed while no worker ran", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });
    bench.target.fails();
    await bench.start();
    await bench.untilOrders(1);

    await bench.restate.kill9();
    await bench.stopWatch();
    const downMs = Date.now();
    await waitFor(() => Date.now() - downMs > 3_000, { withinMs: 5_000, what: "missed ticks" });
    await bench.start();
    const before = (await bench.results()).length;
    await bench.untilResults(before + 2);
    bench.target.isWell();
    await bench.untilOrders(2);

    expect(transitions(bench.orders)).toEqual(["opened 1", "resolved 1"]);
    const { rows } = await bench.database.query(
      "SELECT sum(ticks)::int AS n FROM check_missed_ticks",
    );
    expect(rows[0].n).toBeGreaterThanOrEqual(2);
  });

  it("opens nothing while it is muted, and still resolves what is open", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });
    bench.target.fails();
    await bench.start();
    await bench.untilOrders(1);

    const muted = await bench.call(`${object}/Mute`);
    bench.target.isWell();
    await bench.untilOrders(2);
    bench.target.fails();
    const failedBefore = await failures(bench);
    await waitFor(async () => (await failures(bench)) >= failedBefore + 2, {
      withinMs: 10_000,
      what: "failed runs",
    });

    expect(muted.body.muted_until).toBe("9999-12-31T23:59:59.000Z");
    expect(transitions(bench.orders)).toEqual(["opened 1", "resolved 1"]);
    await bench.call(`${object}/Unmute`);
    await bench.untilOrders(3);
    expect(transitions(bench.orders)).toEqual(["opened 1", "resolved 1", "opened 2"]);
  });

  it("opens nothing in a maintenance window", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });
    const from = new Date(Date.now() - 1_000).toISOString();
    const to = new Date(Date.now() + 600_000).toISOString();
    const window = await bench.call(`${object}/Maintenance`, { from, to, reason: "upgrade" });
    bench.target.fails();

    await bench.start();
    await waitFor(async () => (await failures(bench)) >= 2, {
      withinMs: 10_000,
      what: "failed runs",
    });

    expect(window.body.maintenance).toMatchObject([{ from, to, reason: "upgrade" }]);
    expect(bench.orders).toEqual([]);
    await bench.call(`${object}/EndMaintenance`);
    await bench.untilOrders(1);
  });

  it("records who acknowledged an alert, and notifies nobody of it", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });
    const early = await bench.call(`${object}/Acknowledge`, { by: "ada" });
    bench.target.fails();
    await bench.start();
    await bench.untilOrders(1);

    const { body } = await bench.call(`${object}/Acknowledge`, { by: "ada" }, "ada");
    const seen = (await bench.results()).length;
    await bench.untilResults(seen + 2);

    expect(early.status).toBe(409);
    expect(body.alert).toMatchObject({ episode: 1, acknowledged_by: "ada" });
    expect(bench.orders).toHaveLength(1);
    expect((await bench.snapshot("probe")).alert.acknowledged.by).toBe("ada");
  });

  it("names the rollout in progress when an alert opens", async () => {
    const bench = await startMonitorBench({ apiChecks: [check] });
    bench.situation.rollout = { rolloutId: "ro_1", fleet: "singleton", image: "a", wave: 2 };
    bench.target.fails();

    await bench.start();
    await bench.untilOrders(1);

    expect(bench.orders[0]?.transition.rollout).toEqual({
      rolloutId: "ro_1",
      fleet: "singleton",
      image: "a",
      wave: 2,
    });
  });

  it("does not run while its settings are missing", async () => {
    const bench = await startMonitorBench({ apiChecks: [check], inactive: ["probe"] });

    await bench.start();
    const run = await bench.call(`${object}/Run`);

    expect(run.status).toBe(409);
    expect(run.body.message).toContain("probe is off: set monitor.key");
    expect(await bench.results()).toEqual([]);
  });

  it("sends its secrets, and keeps them out of what it says about an answer that repeats them", async () => {
    const secret = anApiCheck({
      ...check,
      headers: { authorization: "Bearer {{ROOT_KEY}}" },
      assertions: [{ source: "json", path: "data.key", equals: "another" }],
    });
    const bench = await startMonitorBench({ apiChecks: [secret] });
    bench.target.answers((incoming, outgoing) => {
      outgoing
        .writeHead(200)
        .end(JSON.stringify({ data: { key: incoming.headers.authorization } }));
    });

    const { body } = await bench.call(`${object}/Run`);

    expect(bench.target.seen[0]?.authorization).toBe("Bearer the-root-key");
    expect(body.grade).toBe("failed");
    expect(JSON.stringify(body)).not.toContain("the-root-key");
    expect(await bench.results()).toEqual([]);
  });
});

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

async function failures(bench: Bench): Promise<number> {
  return (await bench.results()).filter(({ grade }) => grade === "failed").length;
}
