import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = aHeartbeat({ id: "nightly", name: "Nightly", periodSeconds: 1, graceSeconds: 1 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const register = (bench: Bench) => registerJob(bench, "nightly");

const kinds = (bench: Bench) => bench.orders.map(({ transition }) => transition.kind);

describe("a heartbeat", () => {
  it("alerts at its first deadline, counted from when it was made", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const madeMs = Date.now();

    await register(bench);
    await bench.untilOrders(1);

    const { atMs = 0, kind } = bench.orders[0]?.transition ?? {};
    expect(kind).toBe("opened");
    expect(atMs - madeMs).toBeGreaterThanOrEqual(2_000);
    expect(atMs - madeMs).toBeLessThan(4_500);
  });

  it("alerts at last ping, period and grace, and recovers with the pings that were missed", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const { ping } = await register(bench);

    const sentMs = Date.now();
    const first = await ping();
    const pingedMs = Date.now();
    await bench.untilOrders(1);
    await waitFor(() => Date.now() - pingedMs > 3_300, { withinMs: 5_000, what: "missed pings" });
    await ping();
    await bench.untilOrders(2);

    expect(first).toEqual({ status: 200, body: "ok\n" });
    const [opened, resolved] = bench.orders.map(({ transition }) => transition);
    expect((opened?.atMs ?? 0) - sentMs).toBeGreaterThanOrEqual(2_000);
    expect((opened?.atMs ?? 0) - pingedMs).toBeLessThan(4_500);
    expect(resolved).toMatchObject({ kind: "resolved", episode: 1 });
    // It arrived at some moment between the two.
    const periodsSince = (ms: number) => Math.floor(((resolved?.atMs ?? 0) - ms) / 1_000);
    expect(periodsSince(pingedMs)).toBeGreaterThanOrEqual(3);
    expect(resolved?.missedPings).toBeGreaterThanOrEqual(periodsSince(pingedMs));
    expect(resolved?.missedPings).toBeLessThanOrEqual(periodsSince(sentMs));
  });

  it("stays well while its job pings on time", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const { ping } = await register(bench);

    for (let n = 0; n < 8; n += 1) {
      await ping();
      const atMs = Date.now();
      await waitFor(() => Date.now() - atMs > 500, { withinMs: 2_000, what: "the next ping" });
    }

    expect(bench.orders).toEqual([]);
    expect((await bench.snapshot("nightly")).status).toBe("ok");
    expect((await bench.results()).length).toBe(8);
  });

  it("alerts when its job says that it failed, and recovers when it says otherwise", async () => {
    const bench = await startMonitorBench({
      heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
    });
    const { ping } = await register(bench);

    await ping("/start");
    await ping("/3");
    await bench.untilOrders(1);
    await ping("/0");
    await bench.untilOrders(2);
    await bench.untilResults(2);

    expect(kinds(bench)).toEqual(["opened", "resolved"]);
    expect(bench.orders[0]?.transition.reason).toBe("the job said that it failed (exit code 3)");
    expect((await bench.results()).map(({ grade }) => grade)).toEqual(["failed", "ok"]);
  });

  it("recovers at once also when it was well for long before it failed", async () => {
    const bench = await startMonitorBench({
      heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
    });
    const { ping } = await register(bench);
    await ping();
    await bench.untilWell("nightly");

    await ping("/fail");
    await ping();
    await waitFor(() => bench.orders.length === 2, { withinMs: 5_000, what: "the recovery" });

    expect(kinds(bench)).toEqual(["opened", "resolved"]);
  });

  it("measures a run that begins when it has been well for long", async () => {
    const bench = await startMonitorBench({
      heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
    });
    const { ping } = await register(bench);
    await ping();
    await bench.untilWell("nightly");

    await ping("/start");
    await ping();

    await waitFor(async () => (await bench.snapshot("nightly")).lastDurationMs !== null, {
      withinMs: 10_000,
      what: "the duration",
    });
  });

  it("measures how long a run took that said when it began", async () => {
    const bench = await startMonitorBench({
      heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
    });
    const { ping } = await register(bench);
    await ping("/start");
    const atMs = Date.now();
    await waitFor(() => Date.now() - atMs > 300, { withinMs: 2_000, what: "the job's work" });

    await ping();

    const took = await waitFor(
      async () => (await bench.snapshot("nightly"))?.lastDurationMs ?? false,
      {
        withinMs: 5_000,
        what: "the duration",
      },
    );
    expect(took).toBeGreaterThanOrEqual(300);
    expect(took).toBeLessThan(4_500);
  });

  it("without a channel turns failed and sends no event", async () => {
    const silent = aHeartbeat({ ...heartbeat, channel: null });
    const bench = await startMonitorBench({ heartbeats: [silent] });

    await register(bench);
    await waitFor(async () => (await bench.snapshot("nightly"))?.status === "failed", {
      withinMs: 10_000,
      what: "the deadline",
    });

    expect(bench.orders).toEqual([]);
  });

  it("knows no other token, and none that was replaced", async () => {
    const bench = await startMonitorBench({
      heartbeats: [aHeartbeat({ ...heartbeat, periodSeconds: 600 })],
    });
    const first = await register(bench);
    const second = await register(bench);

    const answers = await Promise.all([
      first.ping(),
      second.ping(),
      bench.takePing(`/${randomBytes(32).toString("base64url")}`),
      bench.takePing(`/${second.token}/stop`),
    ]);

    expect(answers.map((answer) => answer?.status)).toEqual([404, 200, 404, undefined]);
    expect(second.registered).toEqual({ check: "nightly", replaced: true, ping_url: null });
  });

  it("alerts once, and is decided by its pings, while Restate is away and nothing else decides it", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const { ping } = await register(bench);
    await bench.restate.kill9();
    await bench.stopWatch();
    await ping();
    const downMs = Date.now();
    await waitFor(() => Date.now() - downMs > 2_500, { withinMs: 5_000, what: "the deadline" });
    const whileDown = kinds(bench);

    await bench.start();
    await bench.untilOrders(1);
    await bench.stopWatch();
    await ping();
    await ping("/fail");
    await bench.untilOrders(3);

    expect(whileDown).toEqual([]);
    expect(kinds(bench)).toEqual(["opened", "resolved", "opened"]);
  });

  it("takes a ping whose process was killed before it decided it", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    await register(bench);
    await bench.database.query(
      "INSERT INTO heartbeat_pings (id, kind, at) VALUES ('nightly', 'fail', now())",
    );

    await bench.untilOrders(1);

    const reason = "the job said that it failed";
    expect(bench.orders[0]?.transition.reason).toBe(reason);
    expect(await bench.results()).toMatchObject([{ check: "nightly", reason }]);
  });

  it("alerts at the deadline of a heartbeat that had long been ok", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const { ping } = await register(bench);
    await ping();
    await bench.untilWell("nightly");
    // Neither of them is decided.
    await ping();
    const pingedMs = Date.now();
    await ping();
    await bench.untilOrders(1);
    await ping();
    await bench.untilOrders(2);
    await bench.untilWell("nightly");

    const { atMs = 0, reason } = bench.orders[0]?.transition ?? {};
    expect(atMs - pingedMs).toBeGreaterThanOrEqual(2_000);
    expect(atMs - pingedMs).toBeLessThan(4_500);
    expect(reason).toContain("no ping since");
    expect(kinds(bench)).toEqual(["opened", "resolved"]);
  });

  it("is not blamed for a ping that nobody took: a grace period passes first, and the record says why", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    // Far longer than a slow machine needs to notice the deadline.
    await bench.database.query(
      `INSERT INTO monitor_presence (part, since, seen_at) VALUES
         ('pings:killed', now() - interval '1 h', now() - interval '1 s'),
         ('pings:next', now() + interval '10 s', now() + interval '10 minutes')`,
    );
    await register(bench);

    await bench.untilOrders(1);

    const { atMs = 0, reason } = bench.orders[0]?.transition ?? {};
    const { rows } = await bench.database.query(
      "SELECT since FROM monitor_presence WHERE part = 'pings:next'",
    );
    expect(atMs - rows[0].since.getTime()).toBeGreaterThanOrEqual(1_000);
    expect(reason).toContain("away");
  });

  it("alerts while nobody takes pings, but not before another grace period", async () => {
    const bench = await startMonitorBench({ heartbeats: [heartbeat] });
    const madeMs = Date.now();
    await register(bench);
    await bench.database.query(
      `INSERT INTO monitor_presence (part, since, seen_at)
       VALUES ('pings:killed', now() - interval '1 h', now() - interval '40 s')`,
    );

    await bench.untilOrders(1);

    const { atMs = 0, reason } = bench.orders[0]?.transition ?? {};
    expect(atMs - madeMs).toBeGreaterThanOrEqual(3_000);
    expect(reason).toContain("away");
  });
});
