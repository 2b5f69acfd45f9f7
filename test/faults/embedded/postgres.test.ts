import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import getPort from "get-port";
import pg from "pg";
import { pino } from "pino";
import { expect, it, onTestFinished } from "vitest";
import { startPostgres } from "#embedded/postgres.ts";
import { createLog } from "#kernel/log.ts";
import { startTestDatabase } from "../../support/servers/servers.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const log = createLog({ level: "silent", format: "json" });

async function start(dataDir: string, changes: { port?: number; password?: string } = {}) {
  const server = await startPostgres({ dataDir, port: 0, password: "test", log, ...changes });
  onTestFinished(() => server.stop());
  return server;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

it("listens on loopback only, over TCP only", async () => {
  const server = await start(tempDir());

  const [row] = await query(
    server.url,
    "SELECT current_setting('listen_addresses') AS at, current_setting('unix_socket_directories') AS sockets",
  );

  expect(row).toEqual({ at: "127.0.0.1", sockets: "" });
});

it("keeps its password out of the process list and the data directory", async () => {
  const dataDir = tempDir();
  const server = await start(dataDir, { password: "s3cret-s3cret" });

  const command = readFileSync(`/proc/${server.pid()}/cmdline`, "utf8");

  expect(command).not.toContain("s3cret");
  expect(() => readFileSync(path.join(dataDir, "postgres.password"))).toThrow("ENOENT");
});

it("comes back on the same port with its data after a kill -9", async () => {
  const server = await start(tempDir());
  const first = server.pid();
  await query(server.url, "CREATE TABLE kept AS SELECT 42 AS answer");

  process.kill(first, "SIGKILL");

  await waitFor(() => server.pid() !== first, { withinMs: 30_000, what: "the restart" });
  expect(await query(server.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
});

it("starts on the data of a server that was killed while its other processes still run", async () => {
  const database = await startTestDatabase();
  onTestFinished(database.stop);
  await query(database.url, "CREATE TABLE kept AS SELECT 42 AS answer");
  const busy = query(database.url, "SELECT pg_sleep(60)").catch(() => {});

  await database.kill9();
  await database.restart();

  expect(await query(database.url, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
  await busy;
});

it("waits until the last process of a killed server has released its memory", async () => {
  const dataDir = tempDir();
  const killed = await start(dataDir);
  const [row] = await query(
    killed.url,
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
  );
  const straggler = Number(row?.["pid"]);
  process.kill(straggler, "SIGSTOP");
  process.kill(killed.pid(), "SIGKILL");
  await killed.stop();
  const lines: string[] = [];
  const listening = pino({ level: "debug" }, { write: (line: string) => lines.push(line) });

  const starting = startPostgres({ dataDir, port: 0, password: "test", log: listening });
  const isHeld = () => lines.some((line) => line.includes("pre-existing shared memory block"));
  await waitFor(isHeld, { withinMs: 10_000, what: "the refusal" });
  process.kill(straggler, "SIGCONT");

  const server = await starting;
  onTestFinished(server.stop);
  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("starts although another program has its old pid now", async () => {
  const dataDir = tempDir();
  await (await start(dataDir)).stop();
  const other = spawn("sleep", ["60"], { stdio: "ignore" });
  onTestFinished(() => void other.kill("SIGKILL"));
  const lock = path.join(dataDir, "postgres", "postmaster.pid");
  writeFileSync(lock, `${other.pid}\n${dataDir}/postgres\n0\n5480\n\n127.0.0.1\n`);

  const server = await start(dataDir);

  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

it("does not end another program that has its old pid and names its directory", async () => {
  const dataDir = tempDir();
  await (await start(dataDir)).stop();
  const directory = path.join(dataDir, "postgres");
  const reader = ["-f", path.join(directory, "postgresql.conf")];
  const other = spawn("tail", reader, { stdio: "ignore", cwd: directory });
  onTestFinished(() => void other.kill("SIGKILL"));
  const lock = path.join(directory, "postmaster.pid");
  writeFileSync(lock, `${other.pid}\n${directory}\n0\n5480\n\n127.0.0.1\n`);

  const server = await start(dataDir);

  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(other.exitCode ?? other.signalCode).toBeNull();
});

it("says that its port is taken", async () => {
  const port = await getPort({ host: "127.0.0.1" });
  const other = createServer().listen(port, "127.0.0.1");
  onTestFinished(() => void other.close());

  const starting = startPostgres({ dataDir: tempDir(), port, password: "test", log });

  await expect(starting).rejects.toThrow(
    `port ${port} is taken by another program; end it or set database.port (0 takes a free port)`,
  );
});

it("says that the password is not the one of the first start", async () => {
  const dataDir = tempDir();
  await (await start(dataDir)).stop();

  const starting = startPostgres({ dataDir, port: 0, password: "another", log });

  await expect(starting).rejects.toThrow("set up with another password than credentials.json has");
});

it("is set up although a setup that was killed still writes beside it", async () => {
  const dataDir = tempDir();
  const draft = path.join(dataDir, "postgres.new");
  // Like an initdb, which survives a kill of the program that started it.
  const script = `while :; do mkdir -p "$1/base"; true > "$1/base/$((n += 1))"; done`;
  const straggler = spawn("sh", ["-c", script, "sh", draft], { stdio: "ignore" });
  onTestFinished(() => void straggler.kill("SIGKILL"));
  await waitFor(() => existsSync(path.join(draft, "base")), {
    withinMs: 10_000,
    what: "the straggler to write",
  });

  const server = await start(dataDir);

  expect(await query(server.url, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(straggler.exitCode).toBeNull();
});

it("removes the draft of a killed setup", async () => {
  const dataDir = tempDir();
  for (const name of ["postgres.new", "postgres.new-AbC123"]) mkdirSync(path.join(dataDir, name));
  writeFileSync(path.join(dataDir, "postgres.new-AbC123.password"), "secret");

  await start(dataDir);

  const left = readdirSync(dataDir).filter((name) => /\.(?:new|password)/.test(name));
  expect(left).toEqual([]);
});
