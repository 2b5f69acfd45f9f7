/** Whole programs on one database, for what only one of them may do. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type App, startApp } from "#app/app.ts";
import type { Role } from "#app/base.ts";
import { readConfig } from "#config.ts";
import { createLog } from "#kernel/log.ts";
import { runVedette } from "../../support/program/command.ts";
import { type Program, startProgram } from "../../support/program/program.ts";
import { startTestDatabase, type TestDatabase } from "../../support/servers/servers.ts";
import { makeTempDir, tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

let server: TestDatabase;

beforeAll(async () => {
  server = await startTestDatabase();
});

afterAll(() => server?.stop());

async function query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** The connections that hold a lock of ours. */
const locks = () =>
  query(
    `SELECT pid, objid::int AS number FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND classid = $1`,
    [0x76656465],
  );

describe("workers whose fleet is processes of their machine", () => {
  let program: Program;
  const settings = () => ({
    DATABASE_URL: server.url,
    VEDETTE_FLEET__PROCESS__SIZE: "1",
    VEDETTE_ANALYTICS__ENABLED: "false",
  });

  beforeAll(async () => {
    program = await startProgram(settings());
  });

  afterAll(() => program?.dispose());

  it("are limited to one per database: a second is refused with an error that names the first", async () => {
    const { code, stderr } = await runVedette(["start"], {
      ...settings(),
      VEDETTE_DATA_DIR: tempDir(),
      VEDETTE_API__PORT: "0",
      VEDETTE_METRICS__PORT: "0",
    });

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^vedette: a worker whose fleet\.driver is "process" is already running.* pid \d+.*\(database\.url\).*\n$/,
    );
    expect((await program.call("Status")).status).toBe(200);
  });

  it("start again at once after a kill -9", async () => {
    program.kill9("main");

    await program.start();

    expect((await program.call("Status")).status).toBe(200);
  });

  it("continue after a restart of Postgres", async () => {
    const [before] = await locks();

    await server.kill9();
    await server.restart();

    await waitFor(
      async () => {
        const [held] = await locks();
        return held !== undefined && held["pid"] !== before?.["pid"];
      },
      { withinMs: 60_000, what: "the lock to be held again" },
    );
    await waitFor(async () => (await program.call("Status")).status === 200, {
      withinMs: 60_000,
      what: "a status",
    });
  });

  it("end with that error when another has taken over while their connection was lost", async () => {
    const other = new pg.Client({
      connectionString: server.url,
      application_name: "vedette elsewhere",
    });
    await other.connect();
    const [held] = await locks();
    const taken = other.query("SELECT pg_advisory_lock($1, $2)", [0x76656465, held?.["number"]]);
    const isWaiting = async () =>
      (await query("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")).length >
      0;
    await waitFor(isWaiting, { withinMs: 10_000, what: "the other to wait" });

    await query("SELECT pg_terminate_backend($1)", [held?.["pid"]]);
    await taken;

    await waitFor(program.hasStopped, { withinMs: 120_000, what: "the program to end" });
    expect(await program.stop()).toBe(1);
    expect(program.output()).toMatch(/\nvedette: a worker whose .*vedette elsewhere/);
    expect(program.output()).toContain('"msg":"stopped"');
    await other.end();
  });
});

describe("api processes with an embedded analytics store", () => {
  /** An `api` process's worth of program, with a data directory of its own. */
  async function start(over: Record<string, string> = {}, as: Role[] = ["api"]): Promise<App> {
    const dir = makeTempDir();
    onTestFinished(dir.remove);
    const environment = {
      VEDETTE_DATA_DIR: dir.path,
      DATABASE_URL: server.url,
      VEDETTE_API__PORT: "0",
      VEDETTE_METRICS__PORT: "0",
      ...over,
    };
    const app = await startApp(readConfig({ environment }), { roles: as, log });
    onTestFinished(app.stop);
    return app;
  }

  it("are limited to one per database: a second is refused with an error that says what to set", async () => {
    await start();

    await expect(start()).rejects.toThrow(/set clickhouse\.url .*analytics\.enabled = false/);
  });

  it("run beside others without one", async () => {
    await start();

    await expect(start({ VEDETTE_ANALYTICS__ENABLED: "false" })).resolves.toBeDefined();
  });

  it("end without the delay for load balancers when another program has taken their data directory", async () => {
    const app = await start({ VEDETTE_SHUTDOWN_DELAY_SECONDS: "3600" });
    const lock = { pid: 1, startedAt: "1", bootId: "another", pidNamespace: "another" };
    writeFileSync(path.join(app.dataDir, "vedette.lock"), JSON.stringify(lock));
    const { message } = await app.failed;
    const unready = await fetch(`${app.endpoints.metrics}/readyz`);

    await app.stop();

    expect(message).toMatch(/^another program has taken data_dir/);
    expect(unready.status).toBe(503);
    expect(await unready.json()).toMatchObject({ status: "leaving" });
    await expect(fetch(`${app.endpoints.api}/v2/liveness`)).rejects.toThrow();
  });

  it("release the lock for the next one while they end", async () => {
    const first = await start();

    const second = start();
    await first.stop();

    await expect(second).resolves.toBeDefined();
  });
});
