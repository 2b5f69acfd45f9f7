/** A heartbeat alerts although its state was lost: by Restate, by Postgres, or by a process that was killed. */
import { expect, it } from "vitest";
import { aHeartbeat } from "../../../support/monitor/check-builders.ts";
import { registerJob } from "../../../support/monitor/heartbeat-job.ts";
import { startMonitorBench } from "../../../support/monitor/monitor-bench.ts";
import { waitFor } from "../../../support/wait-for.ts";

const heartbeat = aHeartbeat({ id: "nightly", periodSeconds: 1, graceSeconds: 1 });

type Bench = Awaited<ReturnType<typeof startMonitorBench>>;

const register = async (bench: Bench) => (await registerJob(bench, "nightly")).ping;

async function startWell(of = heartbeat) {
  const bench = await startMonitorBench({ heartbeats: [of] });
  const ping = await register(bench);
  await ping();
  await bench.untilWell("nightly");
  return { bench, ping };
}

/** As when Restate lost its disk. */
async function forget({ restate }: Bench) {
  const answer = await fetch(`${restate.adminUrl}/services/vedette.v1.Heartbeat/state`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ object_key: "nightly", new_state: {} }),
  });
  expect(answer.ok).toBe(true);
}

const kinds = (bench: Bench) => bench.orders.map(({ transition }) => transition.kind);

it("by Restate, while it was ok", async () => {
  const { bench, ping } = await startWell();
  await forget(bench);

  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
});

it("by Restate, before its next ping", async () => {
  const slow = aHeartbeat({ ...heartbeat, periodSeconds: 600 });
  const { bench, ping } = await startWell(slow);
  await forget(bench);
  await bench.database.query("UPDATE heartbeats SET is_watched = true");

  await ping();

  await bench.untilWell("nightly");
});

it("by Restate, and registered anew", async () => {
  const { bench } = await startWell(aHeartbeat({ ...heartbeat, periodSeconds: 2 }));
  await forget(bench);
  await register(bench);

  await bench.untilOrders(1);

  expect(bench.orders[0]?.transition.reason).toContain("never pinged since");
});

it("by Restate, when a worker starts", async () => {
  const { bench } = await startWell();
  await forget(bench);
  await bench.database.query(
    "UPDATE heartbeats SET is_watched = true, due_at = due_at + interval '1 hour'",
  );

  await bench.start();
  await bench.untilOrders(1);

  expect(kinds(bench)).toEqual(["opened"]);
});

it("by Postgres, which was set back to a time before its last pings", async () => {
  const { bench, ping } = await startWell();
  await bench.database.query(
    "UPDATE heartbeats SET last_ping_at = last_ping_at - interval '1 day', due_at = clock_timestamp()",
  );

  await bench.untilOrders(1);
  await ping();
  await bench.untilOrders(2);

  expect(kinds(bench)).toEqual(["opened", "resolved"]);
  const { openedAtMs = 0, reason = "" } = bench.orders[0]?.transition ?? {};
  const [since = ""] = /\d{4}-\S+ \S+ UTC/.exec(reason) ?? [];
  expect(openedAtMs - Date.parse(since)).toBeLessThan(5_000);
});

it("by a process that was killed before it ended the watch", async () => {
  const { bench, ping } = await startWell();
  const startedMs = Date.now();
  // Until the alarm of its first deadline has rung: from then on it has none.
  await waitFor(async () => (await ping()) && Date.now() - startedMs > 2_600, {
    withinMs: 5_000,
    what: "its alarm",
  });
  await bench.untilWell("nightly");
  const { database, inbox } = bench;
  // A statement that came too late; and ten minutes later.
  const { rows } = await database.query("SELECT last_ping_at FROM heartbeats");
  await inbox.poll({
    id: "nightly",
    lastPingAtMs: rows[0].last_ping_at.getTime(),
    receivedAtMs: null,
  });
  await database.query("UPDATE heartbeats SET due_at = due_at - interval '10 min'");

  await bench.untilOrders(1);

  expect(kinds(bench)).toEqual(["opened"]);
});

it("its first deadline follows a definition that has changed", async () => {
  const changing = aHeartbeat({ ...heartbeat, periodSeconds: 600 });
  const bench = await startMonitorBench({ heartbeats: [changing] });
  await register(bench);

  Object.assign(changing, { periodSeconds: 1 });
  await bench.start();
  await bench.untilOrders(1);

  expect(kinds(bench)).toEqual(["opened"]);
});
