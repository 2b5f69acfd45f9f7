/** The monitor on a real Restate and a real database, watching a server of ours that does as it is told. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import type { SendToChannel } from "#alerts/channels/message.ts";
import type { AlertOrder, DrillOutcome, RolloutMark } from "#alerts/contract.ts";
import type { Order } from "#alerts/order.ts";
import { enqueue } from "#alerts/outbox.ts";
import { type AlertParts, createAlertServices } from "#alerts/services.ts";
import { onceAtATime } from "#kernel/async.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import type { ApiCheck, Heartbeat, ReadDefinitions } from "#monitor/contract.ts";
import { drillService } from "#monitor/drills/contract.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createTakePing } from "#monitor/heartbeat/pings.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { savePings } from "#monitor/results/record.ts";
import { readSnapshots } from "#monitor/results/snapshots.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { startMonitor, watchStates } from "#monitor/start.ts";
import { createOwner } from "#monitor/state/owner.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { noLinks } from "../alerts/alert-builders.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { startTestRestate } from "../servers/servers.ts";
import { postSigned, readActor } from "../signed-call.ts";
import { waitFor } from "../wait-for.ts";
import { secretsFrom } from "./standard-definitions.ts";

type BenchOptions = {
  apiChecks?: ApiCheck[];
  heartbeats?: Heartbeat[];
  alwaysReplay?: boolean;
  failedAtPercent?: number;
  /** Checks that lack what they need. */
  inactive?: string[];
  /** Sends to direct channels in a real delivery. Absent: `orders` has what the delivery is handed. */
  send?: SendToChannel;
};

type Defined = { apiChecks: ApiCheck[]; heartbeats: Heartbeat[] };

/** Everything is stopped when the test that asks for it ends. */
export async function startMonitorBench(options: BenchOptions) {
  const { apiChecks = [], heartbeats = [], alwaysReplay = false, inactive = [] } = options;
  let definitions: Defined = { apiChecks, heartbeats };
  const readDefinitions: ReadDefinitions = async () => ({ channels: [], ...definitions });
  const logLines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => logLines.push(line) });
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const target = await startTarget();
  const orders: AlertOrder[] = [];
  const sentNow: Order[] = [];
  const situation: { rollout: RolloutMark | null } = { rollout: null };
  /** Known once Restate is started. */
  const urls = { ingress: "" };
  const notifyDrill = ({ drill, ...outcome }: DrillOutcome) =>
    sendToRestate(
      { ingressUrl: urls.ingress, path: `/${drillService}/${drill}/noted` },
      { drill, ...outcome },
      patience.caller,
    );
  const delivery =
    options.send && createAlertServices(deliveryOf({ database, log, notifyDrill, ...options }));
  delivery?.delivery.start();
  onTestFinished(async () => delivery?.delivery.stop());
  const wentOn: string[] = [];
  const drain = onceAtATime(async () => {
    if (delivery === undefined) await drainOutbox(database, { orders, wentOn });
  });
  const runners = createRunners(database);
  const whyOff = ({ id }: { id: string }) => (inactive.includes(id) ? ["monitor.key"] : []);
  const readSecret = secretsFrom({ KEY: "the-key", ROOT_KEY: "the-root-key" });
  const runCheck = createRunCheck({
    probe: createProbe(),
    target: { baseUrl: target.url, readSecret },
    location: "local",
    nowMs: Date.now,
  });
  const { failedAtPercent = 0 } = options;
  const { states, outage } = createOwner({
    database,
    readDefinitions,
    whyOff,
    readRollout: async () => situation.rollout,
    readBlame: async () => () => [],
    readFurther: runners.expected,
    settings: { location: "local", failedAtPercent, runsHere: true },
    runCheck,
    sendNow: async (order) => {
      sentNow.push(order);
      return { kind: "accepted" };
    },
    wakeDelivery: () => void (delivery === undefined ? drain() : delivery.delivery.wake()),
    count: () => {},
    log,
  });
  const inbox = createInbox({
    database,
    recordPings: (pings) => savePings(database, pings),
    decide: states.decide,
  });
  const services = [
    ...createMonitorServices({
      states,
      readDefinitions,
      readActor,
      whyOff,
      runCheck,
      inbox,
      pingUrl: null,
      pingOurs: inbox.pingOurs,
      enqueue: (given) => enqueue(database, given).then(() => void delivery?.delivery.wake()),
      runners,
      location: "local",
    }),
    ...(delivery?.services ?? []),
  ];
  const restate = await startTestRestate({ services: [], alwaysReplay });
  onTestFinished(restate.stop);
  urls.ingress = restate.ingressUrl;
  const serve = (port: number) =>
    serveEndpoint({
      host: "127.0.0.1",
      port,
      services,
      identityKeys: [],
      log,
    });
  const worker = await serve(0);
  onTestFinished(() => worker.stop());
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "monitor" });
  let watch = watchStates({ states, outage, log });
  onTestFinished(() => watch.stop());

  return {
    database,
    restate,
    target,
    /** What the worker has logged, a JSON text each. */
    logLines,
    orders,
    /** The queues that were told to make their next attempt at once. */
    wentOn,
    situation,
    runners,
    inbox,
    states,
    /** Orders that were sent while the database was away. */
    sentNow,
    start: async () => {
      await watch.stop();
      watch = await startMonitor(ingressUrl, { readDefinitions, states, outage, log });
    },
    takePing: createTakePing({ inbox, log, nowMs: Date.now }),
    /** `by`: the name that the gateway signed; absent: the call did not come through it. */
    call: (path: string, body: object = {}, by?: string) =>
      callIngress(`${ingressUrl}/${path}`, body, by),
    results: () => readResults(database),
    untilOrders: (count: number) =>
      waitFor(() => drain().then(() => orders.length >= count), {
        withinMs: 60_000,
        what: `${count} events`,
      }),
    untilResults: (count: number) =>
      waitFor(async () => (await readResults(database)).length >= count, {
        withinMs: 60_000,
        what: `${count} results`,
      }),
    /** Until the object needs no word of pings that come on time. */
    untilWell: (heartbeat: string) =>
      waitFor(
        async () => {
          const { rows } = await database.query("SELECT is_watched FROM heartbeats WHERE id = $1", [
            heartbeat,
          ]);
          return rows[0]?.is_watched === false;
        },
        { withinMs: 10_000, what: `${heartbeat} to be well` },
      ),
    /** The suppression of a check that was recorded last; null: none, or its end. */
    recorded: async (check: string) => (await readRow(database, check))?.recorded ?? null,
    row: (check: string) => readRow(database, check),
    snapshot: async (check: string): Promise<Answer> =>
      (await readSnapshots(database, await readDefinitions())).get(check),
    /** Serves other definitions from now on, which checks follow with their next decision. */
    define: (changed: Partial<Defined>) => {
      definitions = { ...definitions, ...changed };
    },
    /** Has all checks follow the definitions. */
    follow: () => states.decideAll(),
    /** Decides nothing that is due until it is started again. */
    stopWatch: () => watch.stop(),
  };
}

type Drained = { orders: AlertOrder[]; wentOn: string[] };

/** Stands for the delivery: takes what is in the outbox. */
async function drainOutbox(database: Database, { orders, wentOn }: Drained): Promise<void> {
  const { rows } = await database.query(
    "WITH taken AS (DELETE FROM alert_outbox RETURNING *) SELECT * FROM taken ORDER BY seq",
  );
  for (const { queue, order_ } of rows) {
    if (order_ === null) wentOn.push(queue);
    else orders.push(order_);
  }
}

type Delivering = Pick<AlertParts, "database" | "log" | "notifyDrill"> & { send?: SendToChannel };

function deliveryOf({ send, ...parts }: Delivering): AlertParts {
  return {
    ...parts,
    send: send ?? (async () => ({ kind: "unconfigured" })),
    recordAccepted: async () => {},
    sourceOf: () => undefined,
    linkTo: noLinks,
    attemptTimeoutMs: 1_000,
    giveUpAfterMs: 3_600_000,
    keepDays: 30,
    registry: new Registry(),
    readActor,
    webhookUrlOf: () => "",
    channelsOf: () => [],
    readChannels: async () => [],
  };
}

async function startTarget() {
  const seen: { path: string; authorization: string | undefined }[] = [];
  const state: { answer: RequestListener } = { answer: ok };
  const server = createServer((incoming, outgoing) => {
    const { authorization } = incoming.headers;
    seen.push({ path: incoming.url ?? "", authorization });
    state.answer(incoming, outgoing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    isWell: () => {
      state.answer = ok;
    },
    answers: (answer: RequestListener) => {
      state.answer = answer;
    },
    fails: (status = 500) => {
      state.answer = (_, outgoing) => outgoing.writeHead(status).end("{}");
    },
  };
}

const ok: RequestListener = (_, outgoing) => outgoing.writeHead(200).end('{"data":{"valid":true}}');

async function callIngress(url: string, body: object, by?: string) {
  const answer = await postSigned(url, body, by);
  const text = await answer.text();
  return { status: answer.status, body: (text === "" ? null : JSON.parse(text)) as Answer };
}

// biome-ignore lint/suspicious/noExplicitAny: the tests say what they expect of it
type Answer = any;

type Row = { check: string; atMs: number; location: string; grade: string; reason: string | null };

async function readResults(database: Database): Promise<Row[]> {
  const { rows } = await database.query(
    "SELECT check_id, scheduled_at, location, grade, reason FROM check_results ORDER BY scheduled_at, location",
  );
  return rows.map((row) => ({
    check: row.check_id,
    atMs: row.scheduled_at.getTime(),
    location: row.location,
    grade: row.grade,
    reason: row.reason,
  }));
}

async function readRow(database: Database, check: string): Promise<Answer> {
  const { rows } = await database.query("SELECT row FROM check_states WHERE id = $1", [check]);
  return rows[0]?.row;
}
