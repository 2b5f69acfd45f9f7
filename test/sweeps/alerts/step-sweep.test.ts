/** Kills the delivery at every step of the events of a check that flaps, and looks at what the receiver got. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { routeOrder } from "#alerts/order.ts";
import { enqueue } from "#alerts/outbox.ts";
import { migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { buildOrder, eventIdsOf } from "../../support/alerts/alert-builders.ts";
import { startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import { startAlertWorkers } from "../../support/alerts/alert-workers.ts";
import { startCrashProxy } from "../../support/servers/crash-proxy.ts";
import { startTestDatabase } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

/** SWEEP_EVERY=1: at every step. */
const every = Number(process.env["SWEEP_EVERY"] ?? 3);
const mostPoints = 400;
const log = createLog({ level: "silent", format: "json" });

/** The proxy is between the workers and Postgres: a worker is killed at each piece that one sends to the other. */
async function startBench() {
  const stops: (() => unknown)[] = [];
  const receiver = await startAlertReceiver();
  stops.push(receiver.stop);
  const server = await startTestDatabase();
  stops.push(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  stops.push(() => database.end());
  const proxy = await startCrashProxy();
  stops.push(proxy.stop);
  const databaseUrl = new URL(server.url);
  proxy.pointTo(Number(databaseUrl.port));
  databaseUrl.port = new URL(proxy.url).port;
  const workers = await startAlertWorkers({
    databaseUrl: databaseUrl.href,
    receiverUrl: receiver.url,
    sourceId: receiver.sourceId,
    token: receiver.token,
  });
  stops.push(workers.stop);
  const stop = async () => {
    for (const stopPart of stops.reverse()) await stopPart();
  };
  return { receiver, database, workers, proxy, stop };
}

type Bench = Awaited<ReturnType<typeof startBench>>;

/** When the worker ends: when so many pieces have passed, or while that request is answered (from 0). */
type Cut = {
  afterPieces?: number;
  atRequest?: number;
  /** Its leases end by themselves. */
  isInRealTime?: boolean;
};

/** Fails, recovers, fails and recovers. Answers the ids in the order of their arrival. */
async function flap(bench: Bench, run: number, cut: Cut): Promise<string[]> {
  const { database, receiver, workers, proxy } = bench;
  const checkId = `job-${run}`;
  receiver.events.length = 0;
  const replaced = setTrap(bench, cut);
  for (const episode of [1, 2]) {
    for (const kind of ["opened", "resolved"] as const) {
      const order = routeOrder(buildOrder({ checkId, episode, kind }));
      if (order !== null) await enqueue(database, [{ queue: checkId, order }]);
      workers.wake();
    }
  }
  await untilAccepted(bench, checkId, cut);
  if (proxy.isSprung()) await replaced;
  return receiver.events.map(({ eventId }) => eventId);
}

async function untilAccepted({ database }: Bench, checkId: string, cut: Cut): Promise<void> {
  const areRecorded = async () => {
    const { rowCount } = await database.query(
      "SELECT 1 FROM alert_events WHERE check_id = $1 AND status = 'accepted'",
      [checkId],
    );
    return rowCount === 4;
  };
  await waitFor(areRecorded, { withinMs: 30_000, what: `${checkId} cut ${JSON.stringify(cut)}` });
}

/** Answers when another worker has taken over. */
async function setTrap(bench: Bench, { afterPieces, atRequest, isInRealTime }: Cut): Promise<void> {
  const { receiver, workers, proxy, database } = bench;
  const sprung = Promise.withResolvers<void>();
  const spring = () => {
    workers.kill9();
    sprung.resolve();
  };
  proxy.arm({ after: afterPieces ?? Number.POSITIVE_INFINITY, spring });
  let requests = 0;
  receiver.behave = () => {
    if (requests === atRequest) proxy.spring();
    requests += 1;
    // The second one is to be sent again anyway.
    return requests === 2 ? { status: 429, headers: { "retry-after": "0" } } : "accept";
  };
  await sprung.promise;
  // Nobody renews them: the sweep need not wait for five seconds each time.
  if (isInRealTime !== true) {
    await database.query("UPDATE alert_queues SET leased_until = now() WHERE leased_until > now()");
  }
  await workers.replace();
}

describe("a check that flaps while the delivery is killed", () => {
  let bench: Bench;
  let run = 0;

  beforeAll(async () => {
    bench = await startBench();
  });

  afterAll(() => bench.stop());

  it("has each event delivered at least once and in order, at whatever step it is killed", async () => {
    await flap(bench, run, {});
    const pieces = bench.proxy.passed();

    for (let after = 0; after < Math.min(pieces, mostPoints); after += every) {
      run += 1;
      const received = await flap(bench, run, { afterPieces: after });

      expectAllInOrder(received, `job-${run}`, `cut after ${after} of ${pieces} pieces`);
    }

    // A sweep of nothing proves nothing.
    expect(pieces).toBeGreaterThan(20);
  }, 600_000);

  it.each([0, 1, 2, 3])(
    "has an event delivered twice when it is killed during request %i",
    async (atRequest) => {
      run += 1;

      const received = await flap(bench, run, { atRequest });

      const isRefused = atRequest === 1;
      expectAllInOrder(received, `job-${run}`, `cut at request ${atRequest}`);
      expect(received).toHaveLength(isRefused ? 4 : 5);
    },
  );

  it("has everything delivered within ten seconds after it is killed", async () => {
    run += 1;
    const startedAtMs = performance.now();

    const received = await flap(bench, run, { atRequest: 0, isInRealTime: true });

    expectAllInOrder(received, `job-${run}`, "killed in real time");
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });

  it("has sent nothing that breaks the contract", () => {
    expect(bench.receiver.faults).toEqual([]);
  });
});

function expectAllInOrder(received: string[], check: string, when: string): void {
  const wanted = eventIdsOf(2, check);
  const place = (id: string) => wanted.indexOf(id);
  expect([...new Set(received)], when).toEqual(wanted);
  expect(received, when).toEqual(received.toSorted((a, b) => place(a) - place(b)));
  expect(received.length, when).toBeLessThanOrEqual(wanted.length + 1);
}
