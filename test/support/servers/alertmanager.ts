/** Debian's Alertmanager and its amtool, where they are installed; and what routes send it to. */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import type { Environment } from "#alerts/contract.ts";
import type { Delivery } from "#routing/alertmanager/tree.ts";
import type { AlertSource } from "#routing/contract.ts";
import { freePort } from "../free-port.ts";
import { childLimitMs } from "../program/command.ts";
import { aSource } from "../routing/route-rows.ts";
import { makeTempDir } from "../temp-dir.ts";
import { waitFor } from "../wait-for.ts";

const run = promisify(execFile);

export function isInstalled(...programs: string[]): boolean {
  return programs.every((program) => spawnSync(program, ["--version"]).error === undefined);
}

/** What a command said on both streams; throws when it did not end with 0. `programs`: found there first. */
export async function output(
  program: string,
  args: readonly string[],
  programs = "",
): Promise<string> {
  const env = { ...process.env, PATH: `${programs}:${process.env["PATH"]}` };
  const { stdout, stderr } = await run(program, args, { timeout: childLimitMs, env });
  return `${stdout}${stderr}`;
}

export function aSending(over: Partial<AlertSource> = {}): Delivery {
  const environment: Environment = over.environment ?? "production";
  const source = { ...aSource(over), environment };
  const url = `https://incidents.example.com/v2/alert_events/alertmanager/01-${source.name}`;
  return { source, url, credentialsFile: `/etc/alertmanager/${source.name}` };
}

export type Daemon = { url: string; pid: number; stop: () => Promise<void> };

/** Alertmanager on a free port with this configuration; answers when it is ready. */
export function startAlertmanager(configFile: string, ...args: string[]): Promise<Daemon> {
  return startAlertmanagerOf("prometheus-alertmanager", configFile, ...args);
}

/** `program`: the path of another version's. */
export async function startAlertmanagerOf(
  program: string,
  configFile: string,
  ...args: string[]
): Promise<Daemon> {
  const port = await freePort();
  return startDaemon(program, port, (dataDir) => [
    `--config.file=${configFile}`,
    `--web.listen-address=127.0.0.1:${port}`,
    `--storage.path=${dataDir}`,
    "--cluster.listen-address=",
    ...args,
  ]);
}

/** Prometheus on a free port; it tells a restarted alert manager again within a second. */
export async function startPrometheus(configFile: string): Promise<Daemon> {
  const port = await freePort();
  return startDaemon("prometheus", port, (dataDir) => [
    `--config.file=${configFile}`,
    `--web.listen-address=127.0.0.1:${port}`,
    `--storage.tsdb.path=${dataDir}`,
    "--rules.alert.resend-delay=1s",
  ]);
}

async function startDaemon(
  program: string,
  port: number,
  argsFor: (dataDir: string) => string[],
): Promise<Daemon> {
  const dir = makeTempDir();
  const child = spawn(program, argsFor(dir.path), { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-4_000);
  });
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  const stop = async () => {
    if (!isOver()) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    dir.remove();
  };
  const url = `http://127.0.0.1:${port}`;
  // With a password set it answers too: that it asks for it.
  const isReady = async () =>
    isOver() || [200, 401].includes((await fetch(`${url}/-/ready`)).status);
  try {
    await waitFor(isReady, { withinMs: 30_000, what: `${program} to be ready` });
    if (isOver()) throw new Error(`${program} ended at once: ${said}`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, pid: child.pid ?? 0, stop };
}
