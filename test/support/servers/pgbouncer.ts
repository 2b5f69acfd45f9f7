/** Debian's pgbouncer, the real one, where it is installed: `hasPrograms("pgbouncer")`. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import path from "node:path";
import pg from "pg";
import { freePort } from "../free-port.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

/** In front of `databaseUrl`, lending a server for one transaction at a time, with its own defaults. */
export async function startPgbouncer(databaseUrl: string) {
  const dir = makeTempDir();
  chmodSync(dir.path, 0o755);
  const port = await freePort();
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
  const config = path.join(dir.path, "pgbouncer.ini");
  writeFileSync(
    config,
    [
      "[databases]",
      `* = host=${hostname} port=${serverPort} user=${username} password=${password}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = any",
      "pool_mode = transaction",
      "default_pool_size = 5",
    ].join("\n"),
    { mode: 0o644 },
  );
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const launch = () => spawn("pgbouncer", [...user, config], { stdio: "ignore" });
  let child = launch();
  const url = `postgres://anyone@127.0.0.1:${port}${pathname}`;
  const kill = () => void child.kill("SIGKILL");
  const end = async () => {
    const ended = once(child, "exit");
    kill();
    await ended;
  };
  const untilUp = () =>
    waitFor(() => answers(url), { withinMs: 10_000, what: "pgbouncer to answer" });
  // A test run that ends in the middle leaves nothing behind.
  process.once("exit", kill);
  await untilUp();
  return {
    url,
    killAndRestart: async () => {
      await end();
      child = launch();
      await untilUp();
    },
    stop: async () => {
      process.removeListener("exit", kill);
      await end();
      dir.remove();
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => {});
  await client.connect();
  await client.query("SELECT 1");
  await client.end();
  return true;
}
