/** Notices on a real Restate and a real database, in front of a fake chat service, with its log lines kept. */
import { type ObjectContext, object } from "@restatedev/restate-sdk";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { Notice, notices } from "#alerts/contract.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { serveEndpoint } from "#worker/endpoint.ts";
import { registerWorker } from "#worker/register.ts";
import { createTestDatabase } from "../run/shared-postgres.ts";
import { startTestRestate } from "../servers/servers.ts";
import { createChat } from "./chat.ts";
import { type Reply, startFakeChat } from "./fake-chat.ts";

type BenchOptions = {
  replies?: Reply[];
  spacingMs?: number;
  giveUpAfterMs?: number;
  alwaysReplay?: boolean;
  /** Instead of the fake chat service's. */
  webhookUrl?: string;
};

/** Sends a list of notices one after the other, as the rollout does: their object is private. */
const relay = object({
  name: "test.Relay",
  handlers: {
    send: async (ctx: ObjectContext, messages: unknown[]) => {
      for (const message of messages) {
        ctx.sendClient(notices, "sentinel_rollout").post(Notice.parse(message));
      }
    },
  },
});

/** For the test that asks for it; everything is stopped when that test ends. */
export async function startChatBench(options: BenchOptions = {}) {
  const { replies = [], spacingMs = 0, alwaysReplay = false, giveUpAfterMs } = options;
  const chat = await startFakeChat({ replies });
  onTestFinished(chat.stop);
  const restate = await startTestRestate({ services: [relay], alwaysReplay });
  onTestFinished(restate.stop);
  const webhookUrl = options.webhookUrl ?? chat.url;
  const logLines: string[] = [];
  const log = pino({ level: "debug" }, { write: (line) => logLines.push(line) });
  const server = await createTestDatabase();
  onTestFinished(server.stop);
  const database = openDatabase(server.url, createLog({ level: "silent", format: "json" }));
  onTestFinished(() => database.end());
  const open = () =>
    createChat({
      database,
      log,
      webhookUrlOf: () => webhookUrl,
      spacingMs,
      ...(giveUpAfterMs !== undefined && { giveUpAfterMs }),
    });
  let chatServices = open();
  const serve = (port: number) => {
    const { services, delivery } = chatServices;
    delivery.start();
    return serveEndpoint({ host: "127.0.0.1", port, services, identityKeys: [], log });
  };
  let worker = await serve(0);
  onTestFinished(() => worker.stop());
  onTestFinished(() => chatServices.delivery.stop());
  const { adminUrl, ingressUrl } = restate;
  await registerWorker({ adminUrl, workerUrl: worker.url, revision: "chat" });

  return {
    chat,
    restate,
    logLines,
    /** The records of events. */
    readRecords: async () => {
      const { rows } = await database.query(
        "SELECT event_id AS id, status, cause FROM alert_events",
      );
      return rows as { id: string; status: string; cause: string | null }[];
    },
    send: async (messages: Notice[]) => {
      const answer = await fetch(`${ingressUrl}/test.Relay/all/send`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(messages),
      });
      if (!answer.ok) throw new Error(`the relay answered ${answer.status}`);
    },
    receivedIds: () => chat.messages.map(({ metadata }) => metadata.event_payload.id),
    /** Ends the worker with whatever it is doing, and starts it again. */
    restartWorker: async () => {
      const port = Number(new URL(worker.url).port);
      await chatServices.delivery.stop();
      await worker.stop();
      chatServices = open();
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
