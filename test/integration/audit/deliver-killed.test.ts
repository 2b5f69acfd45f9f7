/** A process that delivers the audit log is killed again and again: nothing is lost, and whole requests are repeated. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import type { DirectChannel } from "#alerts/rows/contract.ts";
import { seal } from "#audit/chain.ts";
import { actorOf, recordAudit } from "#kernel/audit.ts";
import type { DeliverySettings } from "../../support/audit/delivery-worker.ts";
import { prepareDatabase } from "../../support/run/prepare-database.ts";
import { waitFor } from "../../support/wait-for.ts";

const { database, url } = prepareDatabase();
const entry = fileURLToPath(new URL("../../support/audit/delivery-worker.ts", import.meta.url));
const rows = 800;

/** When the sending process is killed: with its request on the way, before an answer, or right after it. */
const moments = ["begun", "read", "answered"] as const;
type Moment = (typeof moments)[number];

async function prepareRows(channel: string) {
  await database().query("TRUNCATE audit_log, audit_deliveries");
  await database().query("UPDATE audit_head SET seq = 0, hash = decode(repeat('00', 32), 'hex')");
  await database().query("INSERT INTO audit_deliveries (channel, seq) VALUES ($1, 0)", [channel]);
  const record = { event: "pin.add", description: "Added", actor: actorOf("ada"), targets: [] };
  await recordAudit(
    database(),
    Array.from({ length: rows }, () => record),
  );
  await seal(database());
}

async function startWorker(row: DirectChannel) {
  const settings: DeliverySettings = { databaseUrl: url(), row };
  const child = spawn(process.execPath, [entry, JSON.stringify(settings)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.on("error", () => {});
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

/** A receiver, which reports each moment of each request. */
type Receiver = (reached: (moment: Moment) => void) => { server: Server; requests: number[][] };

const receivers: Record<"webhook" | "syslog", Receiver> = {
  webhook: (reached) => {
    const requests: number[][] = [];
    const server = createHttpServer(async (request, response) => {
      reached("begun");
      const chunks = await request.toArray().catch(() => []);
      if (!request.complete) return;
      const { data } = JSON.parse(Buffer.concat(chunks).toString());
      requests.push(data.rows.map(({ cursor }: { cursor: number }) => cursor));
      reached("read");
      response.end(() => reached("answered"));
    });
    return { server, requests };
  },
  syslog: (reached) => {
    const requests: number[][] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      let text = "";
      socket.on("error", () => {});
      socket.once("data", () => reached("begun"));
      socket.on("data", (chunk) => {
        text += chunk.toString();
      });
      socket.on("end", () => {
        requests.push(
          [...text.matchAll(/ seq="(\d+)".*?"meta":null\}/g)].map((at) => Number(at[1])),
        );
        reached("read");
        socket.end(() => reached("answered"));
      });
    });
    return { server, requests };
  },
};

it.each(["webhook", "syslog"] as const)(
  "a channel of the kind %s gets every row in order, and none is skipped by a kill",
  async (kind) => {
    let killed = 0;
    let kill = () => {};
    const { server, requests } = receivers[kind]((moment) => {
      // The second request of each process, so that each has an end, too.
      if (moment === moments[killed % moments.length] && requests.length > killed * 2) kill();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const scheme = kind === "webhook" ? "http" : "tcp";
    const row = { id: "siem", kind, url: `${scheme}://127.0.0.1:${port}` };
    await prepareRows(row.id);

    let spare = startWorker(row);
    for (; killed < 4; killed += 1) {
      const worker = await spare;
      spare = startWorker(row);
      const exited = once(worker, "exit");
      kill = () => void worker.kill("SIGKILL");
      worker.stdin.write("\n");
      await exited;
      await database().query("UPDATE audit_deliveries SET leased_until = now() - interval '1 s'");
    }
    kill = () => {};
    (await spare).stdin.write("\n");
    await waitFor(async () => (await readCursor()) === rows, {
      withinMs: 20_000,
      what: "all rows",
    });

    const all = requests.flat();
    const firsts = all.filter((cursor, i) => all.indexOf(cursor) === i);
    expect(firsts).toEqual(Array.from({ length: rows }, (_, i) => i + 1));
    expect(all.length).toBeGreaterThan(rows);
    if (kind === "webhook") expect(requests.every((one) => one.length === 100)).toBe(true);
  },
);

async function readCursor(): Promise<number> {
  const { rows } = await database().query("SELECT seq::float8 AS seq FROM audit_deliveries");
  return rows[0].seq;
}
