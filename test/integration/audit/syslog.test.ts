/** The audit log by syslog, to the real rsyslogd. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { pipeline, Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createSendToChannel } from "#alerts/channels/send.ts";
import { createSendRecords } from "#alerts/channels/syslog.ts";
import type { ChannelOf } from "#alerts/rows/contract.ts";
import { findFault, type SealedRow, seal, start } from "#audit/chain.ts";
import { deliverNext } from "#audit/deliver.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import { createLog } from "#kernel/log.ts";
import { createReach } from "#kernel/reach.ts";
import { buildMessage } from "../../support/alerts/message-builders.ts";
import { freePort } from "../../support/free-port.ts";
import { issue, privateKeyOf } from "../../support/http/certificate-chain.ts";
import { secretsFrom } from "../../support/monitor/standard-definitions.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { hasPrograms } from "../../support/servers/programs.ts";
import { hasDriver, type ReceivedLine, startRsyslog } from "../../support/servers/rsyslog.ts";

const log = createLog({ level: "silent", format: "json" });
const { database } = prepareDatabase();

beforeEach(async () => {
  await database().query("TRUNCATE audit_log, audit_deliveries");
  await database().query("UPDATE audit_head SET seq = 0, hash = decode(repeat('00', 32), 'hex')");
  await database().query("INSERT INTO audit_deliveries (channel, seq) VALUES ('logs', 0)");
});

type Given = Partial<{ event: string; description: string; by: string; meta: object }>;

async function write(count: number, given: Given = {}): Promise<void> {
  const { event = "pin.add", description = "Added", by = "ada", meta } = given;
  const record = { event, description, actor: actorOf(by), targets: [], meta: meta as never };
  await recordAudit(
    database(),
    Array.from({ length: count }, () => record),
  );
  await seal(database());
}

/** Delivery to a channel of this row. */
function partsOf(row: Omit<ChannelOf<"syslog">, "id" | "kind">, secrets = {}) {
  const send = createSendRecords({
    readChannels: async () => [{ id: "logs", kind: "syslog", ...row }],
    readSecret: secretsFrom(secrets, "localhost"),
    timeoutMs: 5_000,
    nowMs: Date.now,
    reach: createReach(),
  });
  return { channel: "logs", send, log };
}

async function readCursor(): Promise<number> {
  const { rows } = await database().query("SELECT seq::float8 AS seq FROM audit_deliveries");
  return rows[0].seq;
}

const dataOf = ({ fields }: ReceivedLine) => fields["rfc5424-sd"]?.["vedette@32473"];
const cursorsTo = (end: number) => Array.from({ length: end }, (_, i) => i + 1);

describe.skipIf(!hasPrograms("rsyslogd"))("rsyslogd", () => {
  it("gets each row in order, and parses its header, structured data and JSON", async () => {
    const rsyslog = await startRsyslog();
    await write(120, { by: 'ad"a\\]\n', description: 'Größe "ü" \u2028 \\ ] ' });
    await write(1, { event: "call.refused" });
    const parts = partsOf({ url: `tcp://127.0.0.1:${rsyslog.port}` });

    const counts = [await deliverNext(database(), parts), await deliverNext(database(), parts)];

    const lines = rsyslog.readLines();
    expect(counts).toEqual([100, 21]);
    expect(lines.map((line) => Number(dataOf(line)?.["seq"]))).toEqual(cursorsTo(121));
    const rows = lines.map(({ text }) => JSON.parse(text) as SealedRow);
    let place = start;
    for (const row of rows) {
      expect(findFault(place, row)).toBeUndefined();
      place = row;
    }
    expect(lines[0]).toMatchObject({
      ...{ facility: "13", severity: "5", app: "vedette", event: "pin.add" },
      time: rows[0]?.time.replace(/\d{3}Z$/, "Z"),
      fields: { description: rows[0]?.description, hash: rows[0]?.hash },
    });
    const [first] = lines as [ReceivedLine];
    expect(dataOf(first)).toEqual({ seq: "1", hash: rows[0]?.hash, actor: rows[0]?.actor.id });
    expect(lines[120]).toMatchObject({ severity: "4", event: "call.refused" });
  });

  it("has every row that counts as delivered, however often it is killed", async () => {
    const rsyslog = await startRsyslog();
    await write(1_000);
    const parts = partsOf({ url: `tcp://127.0.0.1:${rsyslog.port}` });
    const readSeqs = () => rsyslog.readLines().map((line) => Number(dataOf(line)?.["seq"]));

    for (let kill = 0; kill < 8; kill += 1) {
      const delivering = deliverNext(database(), parts).catch(() => 0);
      await delay(kill * 50);
      await rsyslog.kill();
      await delivering;
      expect(await readCursor()).toBeLessThanOrEqual(Math.max(0, ...readSeqs()));
      await rsyslog.start();
    }
    while ((await deliverNext(database(), parts)) > 0);

    const seqs = readSeqs();
    const firsts = seqs.filter((seq, i) => seqs.indexOf(seq) === i);
    expect(firsts).toEqual(cursorsTo(1_000));
  });

  it("gets alerts, whose text is UTF-8", async () => {
    const rsyslog = await startRsyslog();
    const url = `tcp://127.0.0.1:${rsyslog.port}`;
    const terms = { readSecret: () => undefined, timeoutMs: 5_000, nowMs: Date.now };
    const send = createSendToChannel(terms);

    const outcome = await send(
      { id: "logs", kind: "syslog", url },
      buildMessage({ name: "Größe" }),
    );

    expect(outcome).toEqual({ kind: "accepted" });
    expect(rsyslog.readLines()).toMatchObject([
      {
        ...{ facility: "14", severity: "2", event: "alert.firing" },
        text: "\ufeffFailed: Größe: status 500",
        fields: { "rfc5424-sd": { "vedette@32473": { check: "verify-key" } } },
      },
    ]);
  });

  it("gets a row that is longer than it takes without its longest parts, as whole JSON", async () => {
    const rsyslog = await startRsyslog();
    const meta = { text: "ü".repeat(10_000) };
    await write(1, { by: "ü".repeat(1_000), description: "\u{1f600}".repeat(500), meta });
    const parts = partsOf({ url: `tcp://127.0.0.1:${rsyslog.port}` });

    await deliverNext(database(), parts);

    const [line, ...others] = rsyslog.readLines();
    expect(others).toEqual([]);
    expect(line?.fields).toMatchObject({
      ...{ cursor: 1, omitted: ["meta", "targets", "user_agent", "description"] },
      actor: { id: "ü".repeat(1_000) },
    });
  });
});

it("a receiver that is away, resets, answers without end, or never closes has got nothing that counts", async () => {
  const endless = Readable.from(
    (function* () {
      for (;;) yield Buffer.alloc(65_536);
    })(),
  );
  const peers = [
    createServer((socket) => void socket.once("data", () => socket.resetAndDestroy())),
    createServer((socket) => void socket.end()),
    createServer((socket) => void pipeline(endless, socket, () => {})),
    createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).resume()),
  ];
  await write(100, { description: "x".repeat(900) });
  const causes: string[] = [];
  for (const peer of peers) {
    await once(peer.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void peer.close());
  }
  const ports = [await freePort(), ...peers.map((peer) => (peer.address() as AddressInfo).port)];
  for (const port of ports) {
    const parts = partsOf({ url: `tcp://127.0.0.1:${port}`, timeoutSeconds: 1 });
    await deliverNext(database(), parts).catch(({ message }: Error) => causes.push(message));
  }

  expect(causes).toEqual([
    "not reached: ECONNREFUSED",
    ...Array.from({ length: 3 }, () => "not reached: ECONNRESET"),
    "not reached: TimeoutError",
  ]);
  expect(await readCursor()).toBe(0);
});

async function issueAll() {
  const root = await issue({ name: "root", days: 9 });
  const server = await issue({ name: "localhost", days: 9, issuer: root, isServer: true });
  return { root: root.pem, cert: server.pem, key: await privateKeyOf(server) };
}

for (const driver of ["gtls", "ossl"] as const) {
  const isThere = hasPrograms("rsyslogd") && hasDriver(driver);
  describe.skipIf(!isThere)(`rsyslogd with TLS by ${driver}`, () => {
    it("gets rows, and none without a valid certificate", async () => {
      const { root, cert, key } = await issueAll();
      const rsyslog = await startRsyslog({ driver, cert, key });
      const others = await issue({ name: "others", days: 9 });
      await write(3);
      const deliver = (host: string, ca?: string) =>
        deliverNext(database(), partsOf({ url: `tls://${host}:${rsyslog.port}`, ca }));

      const wrongs = [
        await deliver("localhost").catch(String),
        await deliver("localhost", others.pem).catch(String),
        await deliver("127.0.0.1", root).catch(String),
      ];
      const refused = { cursor: await readCursor(), lines: rsyslog.readLines() };
      const accepted = await deliver("localhost", root);

      const advice =
        "it has to be for the host of url, and of an authority that Node knows, or that ca of the channel's row has";
      const faults = ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_VERIFY_LEAF_SIGNATURE"];
      expect(wrongs).toEqual(
        [...faults, "ERR_TLS_CERT_ALTNAME_INVALID"].map(
          (fault) => `Error: the receiver's certificate is not valid (${fault}): ${advice}`,
        ),
      );
      expect(refused).toEqual({ cursor: 0, lines: [] });
      expect(accepted).toBe(3);
      expect(rsyslog.readLines().map((line) => dataOf(line)?.["seq"])).toEqual(["1", "2", "3"]);
    });

    it("asks for our certificate, which the secret has", async () => {
      const { root, cert, key } = await issueAll();
      const clients = await issue({ name: "clients", days: 9 });
      const ours = await issue({ name: "vedette", days: 9, issuer: clients, isServer: true });
      const rsyslog = await startRsyslog({ driver, cert, key, clients: clients.pem });
      const row = { url: `tls://localhost:${rsyslog.port}`, ca: root };
      await write(2);

      const without = await deliverNext(database(), partsOf(row)).catch(String);
      const secrets = { OURS: `${ours.pem}\n${await privateKeyOf(ours)}` };
      const accepted = await deliverNext(
        database(),
        partsOf({ ...row, secret: "{{OURS}}" }, secrets),
      );

      expect(without).toMatch(/^Error: not reached: (?:ECONNRESET|EPIPE|ERR_SSL_.*ALERT.*)$/);
      expect(accepted).toBe(2);
      expect(rsyslog.readLines()).toHaveLength(2);
    });
  });
}
