/** The delivery of the audit log in a process that can be killed. Prints a line when it is ready, and starts with a line. */
import { once } from "node:events";
import { flushCompileCache } from "node:module";
import { createSendRecords } from "#alerts/channels/syslog.ts";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { startDelivery } from "#audit/deliver.ts";
import { openDatabase } from "#kernel/database.ts";
import { createLog } from "#kernel/log.ts";
import { createReach } from "#kernel/reach.ts";

export type DeliverySettings = { databaseUrl: string; row: DirectChannel };

const { databaseUrl, row } = JSON.parse(process.argv[2] ?? "") as DeliverySettings;
const log = createLog({ level: "silent", format: "json" });
const parts = {
  readChannels: async () => [row],
  readSecret: () => undefined,
  ...{ timeoutMs: 5_000, nowMs: Date.now, reach: createReach() },
};
const send = createSendRecords(parts);
const database = openDatabase(databaseUrl, log);
await database.query("SELECT 1");
process.stdout.write("ready\n");
flushCompileCache();
await once(process.stdin, "data");
startDelivery(database, { channel: row.id, send, log });
