/** The monitor on a real Restate and a real database, watching a server of ours that does as it is told. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { implement } from "@restatedev/restate-sdk";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import type { SendToChannel } from "#alerts/channels/message.ts";
import { type AlertOrder, alertDelivery, type RolloutMark } from "#alerts/contract.ts";
import { type AlertDeliveryParts, createAlertDelivery } from "#alerts/services.ts";
import { type Database, openDatabase } from "#kernel/database.ts";
import type { ApiCheck, Heartbeat, ReadDefinitions } from "#monitor/contract.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import { createSendDeadlines, watchDeadlines } from "#monitor/heartbeat/deadline-watch.ts";
import { createDeadlines } from "#monitor/heartbeat/deadlines.ts";
import { createInbox } from "#monitor/heartbeat/inbox.ts";
import { createSendPing, createTakePing } from "#monitor/heartbeat/pings.ts";
import { createRunners } from "#monitor/locations/runners.ts";
import { createProbe } from "#monitor/probe/probe.ts";
import { createRunCheck } from "#monitor/probe/run-check.ts";
import { createResultReader } from "#monitor/results/read.ts";
import { createResultWriter } from "#monitor/results/record.ts";
import { createMonitorServices } from "#monitor/services.ts";
import { retireRemoved, startMonitor } from "#monitor/start.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { noLinks } from "../alerts/alert-builders.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { queryRestate } from "../servers/restate-query.ts";
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
  const situation: { rollout: RolloutMark | null } = { rollout: null };
  const recorder = createResultWriter(database);
  const inbox = createInbox({ database, readDefinitions, recordPings: recorder.pings });
  const deadlines = createDeadlines(database);
  const runners = createRunners(database);
  // One for all workers: what an earlier one noted is known to the next.
  const wentOn: string[] = [];
  const delivery =
    options.send === undefined
      ? [notingDelivery(orders, wentOn)]
      : realDelivery({ database, send: options.send, recordAccepted: recorder.delivered });
  const services = [
    ...createMonitorServices({
      readDefinitions,
      recorder,
      readActor,
      readRollout: async () => situation.rollout,
      failedAtPercent: options.failedAtPercent ?? 0,
      location: "local",
      runCheck: createRunCheck({
        probe: createProbe(),
        target: {
          baseUrl: target.url,
          readSecret: secretsFrom({ KEY: "the-key", ROOT_KEY: "the-root-key" }),
        },
        location: "local",
        nowMs: Date.now,
      }),
      whyOff: ({ id }) => (inactive.includes(id) ? ["monitor.key"] : []),
      runners,
      inbox,
      adopt: deadlines.adopt,
      pingUrl: null,
    }),
    ...delivery,
  ];
  const restate = await startTestRestate({ services: [], alwaysReplay });
  onTestFinished(restate.stop);
  const serve = (port: number) =>
    serveEndpoint({
      host: "127.0.0.1",
      port,
      services,
      identityKeys: [],
      log,
    });
  let worker = await serve(0);
  onTestFinished(() => worker.stop());
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "monitor" });
  let watch = watchDeadlines({ deadlines, send: createSendDeadlines(ingressUrl), log });
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
    start: async () => {
      await watch.stop();
      watch = await startMonitor(ingressUrl, { readDefinitions, deadlines, log });
      const reader = createResultReader(database, { failedAtPercent: 0 });
      await retireRemoved(ingressUrl, { readDefinitions, known: await reader.watched() });
    },
    takePing: createTakePing({
      inbox,
      send: createSendPing(ingressUrl),
      log,
      nowMs: Date.now,
    }),
    /** `by`: the name that the gateway signed; absent: the call did not come through it. */
    call: (path: string, body: object = {}, by?: string) =>
      callIngress(`${ingressUrl}/${path}`, body, by),
    results: () => readResults(database),
    untilOrders: (count: number) =>
      waitFor(() => orders.length >= count, { withinMs: 60_000, what: `${count} events` }),
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
    /** The suppression that the object of an API check has had recorded last; null: none, or its end. */
    told: async (check: string): Promise<unknown> => {
      const key = `service_name = 'vedette.v1.ApiCheck' AND service_key = '${check}'`;
      const [row] = await queryRestate(
        adminUrl,
        `SELECT value_utf8 FROM state WHERE ${key} AND key = 'told-suppression'`,
      );
      return JSON.parse(row?.["value_utf8"] ?? "null");
    },
    snapshot: (check: string) => readSnapshot(database, check),
    /** Serves other definitions from now on, which its objects read when they are told. */
    define: (changed: Partial<Defined>) => {
      definitions = { ...definitions, ...changed };
    },
    /** Ends the worker with whatever it is doing, until it is started again. */
    stopWorker: () => worker.stop(),
    /** Ends the worker with whatever it is doing, and starts it again, with other definitions if given. */
    restartWorker: async (changed: Partial<Defined> = {}) => {
      definitions = { ...definitions, ...changed };
      const port = Number(new URL(worker.url).port);
      await worker.stop();
      worker = await serve(port);
    },
  };
}

/** Stands for the delivery: notes what it is handed, each invocation once. */
function notingDelivery(orders: AlertOrder[], wentOn: string[]) {
  const noted = new Set<string>();
  return implement(alertDelivery, {
    handlers: {
      enqueue: async (ctx, order) => {
        await ctx.run("note", async () => {
          // A step that was killed before it was journaled comes again; another invocation is a duplicate.
          if (!noted.has(ctx.request().id)) orders.push(order);
          noted.add(ctx.request().id);
        });
        return null;
      },
      goOn: async (ctx) => {
        wentOn.push(ctx.key);
        return null;
      },
    },
  });
}

function realDelivery(
  parts: Pick<AlertDeliveryParts, "database" | "send" | "recordAccepted">,
): ReturnType<typeof createAlertDelivery> {
  return createAlertDelivery({
    ...parts,
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
    notifyDrill: (ctx, news) => ctx.sendClient(drillObject, news.drill).noted(news),
  });
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

async function readSnapshot(database: Database, check: string): Promise<Answer> {
  const { rows } = await database.query(
    "SELECT snapshot FROM check_snapshots WHERE check_id = $1",
    [check],
  );
  return rows[0]?.snapshot;
}
