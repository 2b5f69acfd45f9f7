/** Timed jobs on a real Restate, with short schedules, and a heartbeat that counts its pings. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { implement } from "@restatedev/restate-sdk";
import { pino } from "pino";
import { Registry } from "prom-client";
import { onTestFinished } from "vitest";
import { type CronJobName, cronServiceName } from "#cron/contract.ts";
import { startCron } from "#cron/internal.ts";
import { createCronMetrics, createPingHeartbeat } from "#cron/metrics.ts";
import type { Jobs } from "#cron/object.ts";
import { createCronServices } from "#cron/run.ts";
import { openDatabase } from "#kernel/database.ts";
import { type JobSuccess, jobHeartbeats } from "#monitor/internal.ts";
import { notifyHeartbeats } from "#monitor/start.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { createChat } from "../alerts/chat.ts";
import { startFakeChat } from "../alerts/fake-chat.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { queryRestate } from "../servers/restate-query.ts";
import { startTestRestate } from "../servers/servers.ts";
import { postSigned, readActor } from "../signed-call.ts";

type BenchOptions = {
  jobs: Jobs;
  alwaysReplay?: boolean;
  /** Statuses of the first answers to pings; from then on 200. */
  pingAnswers?: number[];
};

/** Everything is stopped when the test that asks for it ends. */
export async function startCronBench({
  jobs,
  alwaysReplay = false,
  pingAnswers = [],
}: BenchOptions) {
  const heartbeat = await startHeartbeat(pingAnswers);
  const chat = await startFakeChat();
  onTestFinished(chat.stop);
  const restate = await startTestRestate({ services: [], alwaysReplay });
  onTestFinished(restate.stop);
  const registry = new Registry();
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line) => logLines.push(line) });
  const successes = new Map<string, JobSuccess>();
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, log);
  onTestFinished(() => database.end());
  const notices = createChat({ database, log, webhookUrlOf: () => chat.url });
  notices.delivery.start();
  onTestFinished(notices.delivery.stop);
  const services = [
    noting(successes),
    ...createCronServices({
      jobs,
      readActor,
      heartbeatUrlOf: () => heartbeat.url,
      successCall: (job, atMs) => notifyHeartbeats({ job, atMs }),
      pingHeartbeat: createPingHeartbeat({ minTimeout: 10, maxTimeout: 10 }),
      metrics: createCronMetrics(registry),
    }),
    ...notices.services,
  ];
  const serve = (port: number) =>
    serveEndpoint({ host: "127.0.0.1", port, services, identityKeys: [], log });
  let worker = await serve(0);
  onTestFinished(() => worker.stop());
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "cron" });

  const call = async (job: CronJobName, handler: "Status" | "Run", by?: string) => {
    const answer = await postSigned(`${ingressUrl}/${cronServiceName}/${job}/${handler}`, {}, by);
    return { status: answer.status, body: (await answer.json()) as Record<string, never> };
  };

  return {
    restate,
    registry,
    logLines,
    chat,
    pings: heartbeat.pings,
    /** What the monitor was told, by invocation. */
    successes,
    call,
    start: () => startCron(ingressUrl),
    killRunner: async () => {
      const rows = await queryRestate(
        adminUrl,
        "SELECT id FROM sys_invocation WHERE target_service_name = 'vedette.v1.CronRunner' AND status <> 'completed'",
      );
      for (const { id } of rows) {
        await fetch(`${adminUrl}/invocations/${id}/kill`, { method: "PATCH" });
      }
      return rows.length;
    },
    /** Ticks that wait for their time, of all jobs. */
    armedTicks: async () => {
      const rows = await queryRestate(
        adminUrl,
        "SELECT id FROM sys_invocation WHERE target_handler_name = 'tick' AND status = 'scheduled'",
      );
      return rows.length;
    },
    /** Ends the worker with whatever it is doing, and starts it again. */
    restartWorker: async () => {
      const port = Number(new URL(worker.url).port);
      await worker.stop();
      worker = await serve(port);
    },
  };
}

/** Stands for the monitor. */
function noting(successes: Map<string, JobSuccess>) {
  return implement(jobHeartbeats, {
    handlers: {
      succeeded: async (ctx, success) => {
        successes.set(ctx.request().id, success);
        return null;
      },
    },
  });
}

async function startHeartbeat(answers: number[]) {
  const pings: number[] = [];
  const server = createServer((_, outgoing) => {
    pings.push(Date.now());
    outgoing.writeHead(answers.shift() ?? 200).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/secret-token`, pings };
}
