/** Rows of the audit log on their way to a channel: at least once, in order, by whichever process. */
import { Registry } from "prom-client";
import { beforeEach, expect, it } from "vitest";
import { seal } from "#audit/chain.ts";
import { deliverNext, exposeUndelivered, startDelivery } from "#audit/deliver.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { createLog, type Log } from "#kernel/log.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });
const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query("TRUNCATE audit_log, audit_deliveries");
  await database().query("UPDATE audit_head SET seq = 0, hash = decode(repeat('00', 32), 'hex')");
  await database().query("INSERT INTO audit_deliveries (channel, seq) VALUES ('siem', 0)");
});

async function write(count: number, text = "Added"): Promise<void> {
  const record = { event: "pin.add", description: text, actor: actorOf("ada"), targets: [] };
  await recordAudit(
    database(),
    Array.from({ length: count }, () => record),
  );
  await seal(database());
}

/** A receiver that answers with these statuses, the last one for ever. */
function receiver(...statuses: number[]) {
  const requests: { id: string; cursors: number[] }[] = [];
  const send = async (_: string, { id, body }: { id: string; body: string }) => {
    const { data } = JSON.parse(body) as { data: { rows: { cursor: number }[] } };
    requests.push({ id, cursors: data.rows.map(({ cursor }) => cursor) });
    return { status: (statuses.length > 1 ? statuses.shift() : statuses[0]) ?? 200 };
  };
  return { requests, parts: { channel: "siem", send, log } };
}

const cursorsTo = (end: number) => Array.from({ length: end }, (_, i) => i + 1);

it("a request that is not accepted is repeated with the same id, and nothing overtakes it", async () => {
  await write(3);
  const { requests, parts } = receiver(503, 200);

  await expect(deliverNext(database(), parts)).rejects.toThrow("status 503");
  const accepted = await deliverNext(database(), parts);
  await write(2);
  await deliverNext(database(), parts);

  expect(accepted).toBe(3);
  expect(requests.map(({ id }) => id)).toEqual(["audit_1_3", "audit_1_3", "audit_4_5"]);
});

it("what a killed process has sent without an answer is sent again once its lease is over", async () => {
  await write(2);
  const { requests, parts } = receiver(200);
  await database().query("UPDATE audit_deliveries SET leased_until = now() + interval '1 min'");

  const while_ = await deliverNext(database(), parts);
  await database().query("UPDATE audit_deliveries SET leased_until = now() - interval '1 s'");
  const after = await deliverNext(database(), parts);

  expect([while_, after]).toEqual([0, 2]);
  expect(requests).toEqual([{ id: "audit_1_2", cursors: [1, 2] }]);
});

it("rows that the channel has not accepted are counted at each scrape", async () => {
  const registry = new Registry();
  exposeUndelivered(database(), registry);
  const { parts } = receiver(200);
  await write(101);

  const before = await registry.metrics();
  await deliverNext(database(), parts);
  const after = await registry.metrics();
  await database().query("TRUNCATE audit_deliveries");
  const without = await registry.metrics();

  expect(before).toContain('vedette_audit_undelivered_rows{channel="siem"} 101');
  expect(after).toContain('vedette_audit_undelivered_rows{channel="siem"} 1\n');
  expect(without).not.toContain("siem");
});

it("several processes send each row once, in order", async () => {
  await write(250);
  const { requests, parts } = receiver(200);
  const senders = Array.from({ length: 3 }, () => startDelivery(database(), parts));

  await waitFor(() => requests.flatMap(({ cursors }) => cursors).length >= 250, {
    ...{ withinMs: 20_000, what: "all rows" },
  });
  await Promise.all(senders.map(({ stop }) => stop()));

  expect(requests.flatMap(({ cursors }) => cursors)).toEqual(cursorsTo(250));
});

it("the log says once that rows are not accepted, and once that they are again", async () => {
  await write(1);
  const { requests, parts } = receiver(503, 503, 200);
  const lines: unknown[] = [];
  const record = (_: object, line: string) => void lines.push(line);
  const recorder = { warn: record, info: record } as unknown as Log;

  const { stop } = startDelivery(database(), { ...parts, log: recorder });
  await waitFor(() => lines.length >= 2, { withinMs: 30_000, what: "two lines" });
  await stop();

  expect(requests).toHaveLength(3);
  expect(lines).toEqual(["audit log not sent", "audit log sent again"]);
});

it("a request has fewer rows when they are long", async () => {
  await write(50, "x".repeat(1_000));
  const meta = JSON.stringify({ text: "y".repeat(20_000) });
  await database().query("UPDATE audit_log SET meta = $1", [meta]);
  const { requests, parts } = receiver(200);

  await deliverNext(database(), parts);

  expect(requests[0]?.cursors).toEqual(cursorsTo(9));
});

it("a channel that is no longer set keeps no row from being removed", async () => {
  const { parts } = receiver(200);

  await startDelivery(database(), { ...parts, channel: "" }).stop();

  const { rows } = await database().query("SELECT * FROM audit_deliveries");
  expect(rows).toEqual([]);
});
