/**
 * A program that starts both embedded servers and, when it is asked to end, uses them once more
 * before it stops them; at SIGUSR2 it throws what nobody catches. `node embedded-parent.ts <data_dir>`; one JSON
 * line per step.
 */
import pg from "pg";
import { request } from "undici";
import { startPostgres } from "#embedded/postgres.ts";
import { startRestate } from "#embedded/restate.ts";
import { createLog } from "#kernel/log.ts";

const log = createLog({ level: "silent", format: "json" });
const dataDir = process.argv[2] ?? "";
const postgres = await startPostgres({ dataDir, port: 0, password: "test", log });
const restate = await startRestate({ dataDir, ingressPort: 0, adminPort: 0, log });

function say(line: Record<string, unknown>): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function end(): Promise<void> {
  const client = new pg.Client(postgres.url);
  await client.connect();
  await client.query("SELECT 1");
  await client.end();
  const { statusCode } = await request(`${restate.adminUrl}/health`);
  say({ step: "used", health: statusCode });
  await restate.stop();
  await postgres.stop();
  say({ step: "stopped" });
}

process.once("SIGUSR2", () => {
  throw new Error("a fault");
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => void end());
say({ step: "up", postgres: postgres.pid(), restate: restate.pid(), url: postgres.url });
