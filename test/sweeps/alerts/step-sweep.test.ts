/** Ends the worker at every step of an episode that flaps, and looks at what the receiver got. */
import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { registerWorker } from "#worker/register.ts";
import { eventIdsOf } from "../../support/alerts/alert-builders.ts";
import { startAlertReceiver } from "../../support/alerts/alert-receiver.ts";
import { startAlertWorkers } from "../../support/alerts/alert-workers.ts";
import { startCrashProxy } from "../../support/servers/crash-proxy.ts";
import { startTestDatabase, startTestRestate } from "../../support/servers/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

/** SWEEP_EVERY=1: at every step, which takes three minutes on two idle cores. */
const every = Number(process.env["SWEEP_EVERY"] ?? 4);
const mostPoints = 400;
const log = createLog({ level: "silent", format: "json" });

async function startBench() {
  const stops: (() => unknown)[] = [];
  const receiver = await startAlertReceiver();
  stops.push(receiver.stop);
  const server = await startTestDatabase();
  stops.push(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  stops.push(() => database.end());
  const workers = await startAlertWorkers({
    databaseUrl: server.url,
    receiverUrl: receiver.url,
    sourceId: receiver.sourceId,
    token: receiver.token,
    heartbeats: mostPoints + 10,
  });
  stops.push(workers.stop);
  const proxy = await startCrashProxy();
  stops.push(proxy.stop);
  proxy.pointTo(workers.port());
  const restate = await startTestRestate({ services: [] });
  stops.push(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: proxy.url, revision: "sweep" });
  const stop = async () => {
    for (const stopPart of stops.reverse()) await stopPart();
  };
  return { receiver, database, workers, proxy, ingressUrl, stop };
}

type Bench = Awaited<ReturnType<typeof startBench>>;

/** Where the worker ends: when so many pieces have passed, or while that request is answered (from 0). */
type Cut = { afterPieces?: number; atRequest?: number };

/** Fails, recovers, fails and recovers. Answers the ids in the order of their arrival. */
async function flap(bench: Bench, run: number, cut: Cut): Promise<string[]> {
  const check = await register(bench, run);
  const replaced = setTrap(bench, cut);
  for (const kind of ["fail", "success", "fail", "success"]) await ping(bench, check, kind);
  await untilAccepted(bench, check, { count: 4, cut });
  if (bench.proxy.isSprung()) await replaced;
  return bench.receiver.events.map(({ eventId }) => eventId);
}

/** Fails, and is removed while its alert is open. */
async function failAndRemove(bench: Bench, run: number, cut: Cut): Promise<string[]> {
  const check = await register(bench, run);
  bench.receiver.behave = () => "accept";
  await ping(bench, check, "fail");
  await untilAccepted(bench, check, { count: 1, cut });
  bench.proxy.pointTo(await bench.workers.replaceWithout(check));
  const replaced = setTrap(bench, cut);
  await call(bench, `${check}/retire/send`, {});
  await untilAccepted(bench, check, { count: 2, cut });
  if (bench.proxy.isSprung()) await replaced;
  return bench.receiver.events.map(({ eventId }) => eventId);
}

async function register(bench: Bench, run: number): Promise<string> {
  const check = `job-${run}`;
  const token_hash = createHash("sha256").update(randomBytes(32)).digest("hex");
  await call(bench, `${check}/Register`, { token_hash });
  bench.receiver.events.length = 0;
  return check;
}

async function ping(bench: Bench, check: string, kind: string): Promise<void> {
  await call(bench, `${check}/ping/send`, { kind, atMs: Date.now(), exitCode: null });
}

async function untilAccepted(
  { database }: Bench,
  check: string,
  { count, cut }: { count: number; cut: Cut },
): Promise<void> {
  const isRecorded = async () => {
    const { rowCount } = await database.query(
      "SELECT 1 FROM alert_events WHERE check_id = $1 AND status = 'accepted'",
      [check],
    );
    return rowCount === count;
  };
  await waitFor(isRecorded, { withinMs: 30_000, what: `${check} cut ${JSON.stringify(cut)}` });
}

async function call({ ingressUrl }: Bench, path: string, body: object): Promise<void> {
  const answer = await fetch(`${ingressUrl}/vedette.v1.Heartbeat/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(answer.ok, await answer.text()).toBe(true);
}

/** Answers when another worker has taken over. */
async function setTrap(bench: Bench, { afterPieces, atRequest }: Cut): Promise<void> {
  const { receiver, workers, proxy } = bench;
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
  proxy.pointTo(await workers.replace());
}

describe("a check that flaps while the worker is killed", () => {
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

  it("is resolved when it is removed, at whatever step the worker is killed", async () => {
    run += 1;
    await failAndRemove(bench, run, {});
    const pieces = bench.proxy.passed();

    for (let after = 0; after < pieces; after += every) {
      run += 1;
      const received = await failAndRemove(bench, run, { afterPieces: after });

      const ids = eventIdsOf(1, `job-${run}`);
      expect([...new Set(received)], `cut after ${after} of ${pieces} pieces`).toEqual(ids);
    }

    expect(pieces).toBeGreaterThan(5);
  }, 300_000);

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
