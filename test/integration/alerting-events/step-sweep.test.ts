/** Ends the worker at every step of an episode that flaps, and looks at what the receiver got. */
import { createHash, randomBytes } from "node:crypto";
import { expect, it, onTestFinished } from "vitest";
import { migrate, openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { registerWorker } from "#worker/register.ts";
import { startAlertReceiver } from "../../support/alert-receiver.ts";
import { startAlertWorkers } from "../../support/alert-workers.ts";
import { startCrashProxy } from "../../support/crash-proxy.ts";
import { startTestDatabase, startTestRestate } from "../../support/servers.ts";
import { waitFor } from "../../support/wait-for.ts";

/** All of them take three minutes: SWEEP_EVERY=1. */
const every = Number(process.env["SWEEP_EVERY"] ?? 3);
const mostPoints = 400;
const log = createLog({ level: "silent", format: "json" });

async function startBench() {
  const receiver = await startAlertReceiver();
  onTestFinished(receiver.stop);
  const server = await startTestDatabase();
  onTestFinished(server.stop);
  await migrate(server.url, log);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const workers = await startAlertWorkers({
    databaseUrl: server.url,
    receiverUrl: receiver.url,
    sourceId: receiver.sourceId,
    token: receiver.token,
    heartbeats: mostPoints + 1,
  });
  onTestFinished(workers.stop);
  const proxy = await startCrashProxy();
  onTestFinished(proxy.stop);
  proxy.pointTo(workers.port());
  const restate = await startTestRestate({ services: [] });
  onTestFinished(restate.stop);
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: proxy.url, revision: "sweep" });
  return { receiver, database, workers, proxy, ingressUrl };
}

type Bench = Awaited<ReturnType<typeof startBench>>;

const idsOf = (check: string) =>
  [1, 2].flatMap((episode) => [`${check}:${episode}:opened`, `${check}:${episode}:resolved`]);

/** Fails, recovers, fails and recovers; the worker ends when so many pieces have passed. */
async function flap(bench: Bench, run: number, after: number): Promise<string[]> {
  const { receiver, workers, proxy, ingressUrl, database } = bench;
  const check = `job-${run}`;
  const call = async (handler: string, body: object) => {
    const answer = await fetch(`${ingressUrl}/vedette.v1.Heartbeat/${check}/${handler}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.ok, await answer.text()).toBe(true);
  };
  const token_hash = createHash("sha256").update(randomBytes(32)).digest("hex");
  await call("Register", { token_hash });
  receiver.events.length = 0;
  receiver.script.push("accept", { status: 429, headers: { "retry-after": "0" } });
  const replaced = Promise.withResolvers<void>();
  proxy.arm({
    after,
    spring: () => {
      workers.kill9();
      workers.replace().then((port) => {
        proxy.pointTo(port);
        replaced.resolve();
      }, replaced.reject);
    },
  });
  for (const kind of ["fail", "success", "fail", "success"]) {
    await call("ping/send", { kind, atMs: Date.now(), exitCode: null });
  }
  const isRecorded = async () => {
    const { rowCount } = await database.query(
      "SELECT 1 FROM alert_events WHERE check_id = $1 AND status = 'accepted'",
      [check],
    );
    return rowCount === 4;
  };
  await waitFor(isRecorded, { withinMs: 30_000, what: `${check} cut after ${after}` });
  if (proxy.isSprung()) await replaced.promise;
  return receiver.events.map(({ eventId }) => eventId);
}

it("delivers every event of a flapping check at least once and in order, wherever the worker is killed", async () => {
  const bench = await startBench();
  await flap(bench, 0, Number.POSITIVE_INFINITY);
  const pieces = bench.proxy.passed();
  expect(pieces).toBeGreaterThan(20);

  let repeated = 0;
  for (let after = 0; after < Math.min(pieces, mostPoints); after += every) {
    const received = await flap(bench, after + 1, after);

    const wanted = idsOf(`job-${after + 1}`);
    expect([...new Set(received)], `cut after ${after}`).toEqual(wanted);
    expect(received, `cut after ${after}`).toEqual(
      received.toSorted((a, b) => wanted.indexOf(a) - wanted.indexOf(b)),
    );
    expect(received.length, `cut after ${after}`).toBeLessThanOrEqual(wanted.length + 1);
    repeated += received.length - wanted.length;
  }

  // A sweep that met no request under way would prove nothing.
  expect(repeated).toBeGreaterThan(0);
  expect(bench.receiver.faults).toEqual([]);
}, 600_000);
