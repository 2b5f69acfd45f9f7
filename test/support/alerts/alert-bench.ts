/** The delivery of alert events on a real database, with their services on a real Restate, in front of a receiver of ours. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import type { AnyChannel, SendToChannel } from "#alerts/channels/message.ts";
import {
  type AlertEventView,
  type AlertOrder,
  type DrillOutcome,
  directQueueKey,
} from "#alerts/contract.ts";
import { type Order, routeOrder } from "#alerts/order.ts";
import { enqueue } from "#alerts/outbox.ts";
import { createAlertServices } from "#alerts/services.ts";
import { createSourceOf, type SourceKind } from "#alerts/source.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { startTestRestate } from "../servers/servers.ts";
import { postSigned, readActor } from "../signed-call.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";
import { exampleLinks } from "./alert-builders.ts";
import { startAlertReceiver } from "./alert-receiver.ts";

type BenchOptions = {
  alwaysReplay?: boolean;
  giveUpAfterMs?: number;
  attemptTimeoutMs?: number;
  sourceKind?: SourceKind;
  /** The settings name no source. */
  isUnconfigured?: boolean;
  killsPostgres?: boolean;
  channels?: AnyChannel[];
  send?: SendToChannel;
  notifyDrill?: (outcome: DrillOutcome) => Promise<void>;
};

const hourMs = 60 * 60_000;

function queueOf({ target, transition: { checkId } }: AlertOrder): string {
  return target === undefined ? checkId : directQueueKey(checkId, target.id);
}

/** For the test that asks for it; everything is stopped when that test ends. */
export async function startAlertBench(options: BenchOptions = {}) {
  const receiver = await startAlertReceiver();
  onTestFinished(() => receiver.stop());
  const server = await createTestDatabase({ isKilled: options.killsPostgres === true });
  onTestFinished(server.stop);
  const silent = createLog({ level: "silent", format: "json" });
  const database = openDatabase(server.url, silent);
  onTestFinished(() => database.end());
  const dir = makeTempDir();
  onTestFinished(dir.remove);
  const tokenFile = path.join(dir.path, "token");
  writeFileSync(tokenFile, `${receiver.token}\n`);

  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line) => logLines.push(line) });
  const noted: { eventId: string; atMs: number }[] = [];
  const news: DrillOutcome[] = [];
  const registry = new Registry();
  let opened = -1;
  const source = {
    source_id: options.isUnconfigured === true ? "" : receiver.sourceId,
    source_kind: options.sourceKind ?? "checkly",
    token: "",
    token_file: tokenFile,
  };
  const open = () => {
    opened += 1;
    return createAlertServices({
      sourceOf: createSourceOf(receiver.url, { production: source, staging: source }),
      linkTo: exampleLinks,
      attemptTimeoutMs: options.attemptTimeoutMs ?? 1_000,
      giveUpAfterMs: options.giveUpAfterMs ?? hourMs,
      keepDays: 30,
      database,
      recordAccepted: async (_db, events) => {
        noted.push(...events.map(({ event: { eventId }, atMs }) => ({ eventId, atMs })));
      },
      notifyDrill: async (one) => {
        await options.notifyDrill?.(one);
        news.push(one);
      },
      registry: opened === 0 ? registry : new Registry(),
      log,
      readActor,
      send: options.send ?? (async () => ({ kind: "accepted" })),
      webhookUrlOf: () => "",
      channelsOf: () => [],
      readChannels: async () => options.channels ?? Promise.reject(new Error("not to be read")),
    });
  };
  let alerts = open();
  const { alwaysReplay = false } = options;
  const restate = await startTestRestate({ services: [], alwaysReplay });
  onTestFinished(restate.stop);
  const serve = (port: number) => {
    const { services, delivery } = alerts;
    delivery.start();
    return serveEndpoint({ host: "127.0.0.1", port, services, identityKeys: [], log });
  };
  let worker = await serve(0);
  onTestFinished(() => worker.stop());
  onTestFinished(() => alerts.delivery.stop());
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "alerts" });

  const call = async (pathOf: string, body: unknown, by?: string) => {
    const answer = await postSigned(`${ingressUrl}/${pathOf}`, body, by);
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const list = async (request: object = {}) =>
    (await call("vedette.v1.AlertEvents/List", request)).body["events"] as AlertEventView[];

  return {
    receiver,
    restate,
    server,
    registry,
    logLines,
    noted,
    /** What drills were told; more than once after a replay. */
    news,
    tokenFile,
    call,
    list,
    /** As a check does it: in a transaction, after which the delivery is woken. */
    enqueue: async (orders: readonly AlertOrder[]) => {
      const routed = orders.flatMap((given) => {
        const order = routeOrder(given);
        return order === null ? [] : { queue: queueOf(given), order };
      });
      await enqueue(database, routed);
      alerts.delivery.wake();
    },
    sendNow: (order: AlertOrder) => alerts.sendNow(routeOrder(order) as Order),
    show: (eventId: string) => call("vedette.v1.AlertEvents/Show", { event_id: eventId }),
    retry: (eventId: string, by?: string) =>
      call("vedette.v1.AlertEvents/Retry", { event_id: eventId }, by),
    receivedIds: () => receiver.events.map(({ eventId }) => eventId),
    untilReceived: (count: number) =>
      waitFor(() => receiver.events.length >= count, {
        withinMs: 30_000,
        what: `${count} events to arrive`,
      }),
    untilAttempted: (count: number) =>
      waitFor(() => receiver.attemptsAtMs.length >= count, {
        withinMs: 30_000,
        what: `${count} attempts`,
      }),
    untilStatus: (eventId: string, status: string) =>
      waitFor(
        async () =>
          (await list()).find((event) => event.event_id === eventId && event.status === status),
        { withinMs: 30_000, what: `${eventId} to be ${status}` },
      ),
    /** Ends the worker with whatever it is doing, and starts it again. */
    restartWorker: async () => {
      const port = Number(new URL(worker.url).port);
      await alerts.delivery.stop();
      await worker.stop();
      alerts = open();
      worker = await serve(port);
    },
    /** Everything that is stored of queues and events, as text. */
    readStored: async (): Promise<string> => {
      const tables = ["alert_outbox", "alert_queues", "alert_events"];
      const answers = tables.map((table) => database.query(`SELECT * FROM ${table}`));
      return JSON.stringify((await Promise.all(answers)).map(({ rows }) => rows));
    },
  };
}
