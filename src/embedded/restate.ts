/** The Restate server that npm brings, for a machine that has no other. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { request } from "undici";
import type { Log } from "#kernel/log.ts";
import { startOnFreePorts, takePort } from "./ports.ts";
import { endLeftover, type SupervisedServer, superviseServer } from "./supervised.ts";

export type RestateSettings = {
  dataDir: string;
  /** 0 takes a free port. */
  ingressPort: number;
  adminPort: number;
  /** PEM file with the private key that signs every request to the worker. */
  identityKeyFile?: string;
  /** Further `RESTATE_…` variables, over those of `restate.toml`. */
  environment?: Record<string, string>;
  log: Log;
};

export type RestateServer = SupervisedServer & { ingressUrl: string; adminUrl: string };

const ending = { stopSignal: "SIGTERM", stopWithinMs: 10_000 } as const;

/**
 * Starts the server on loopback and keeps it running. Its data is in `<dataDir>/restate`. A server
 * of an earlier, killed run is ended first. Throws one clear line when it cannot start.
 */
export async function startRestate(settings: RestateSettings): Promise<RestateServer> {
  const baseDir = path.resolve(settings.dataDir, "restate");
  mkdirSync(baseDir, { recursive: true, mode: 0o700 });
  const pidFile = path.resolve(settings.dataDir, "restate.pid.json");
  await endLeftover({ pidFile, ...ending });
  rmSync(temporaryDir(baseDir), { recursive: true, force: true });
  mkdirSync(temporaryDir(baseDir));
  return startOnFreePorts(async () => {
    const ingress = await takePort(settings.ingressPort, "restate.ingress_port");
    const admin = await takePort(settings.adminPort, "restate.admin_port");
    // Where the servers of a cluster talk to each other: of no use to one server alone.
    const fabric = await takePort(0, "");
    const adminUrl = `http://127.0.0.1:${admin}`;
    const environment = serverEnvironment({ ingress, admin, fabric, baseDir }, settings);
    const server = await superviseServer({
      ...ending,
      name: "restate",
      pidFile,
      launch: () => launch(environment),
      isReady: () => isReady(adminUrl),
      // Seconds where nothing else runs.
      readyWithinMs: 300_000,
      log: settings.log,
    });
    return { ...server, ingressUrl: `http://127.0.0.1:${ingress}`, adminUrl };
  });
}

function launch(environment: NodeJS.ProcessEnv): ChildProcess {
  return spawn(restateBinary(), ["--no-logo", "--config-file", configFile], {
    env: environment,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
}

type Places = { ingress: number; admin: number; fabric: number; baseDir: string };

function temporaryDir(baseDir: string): string {
  return path.join(baseDir, "tmp");
}

/** Nothing of our own environment: it holds secrets, and a RESTATE_… variable would be obeyed. */
function serverEnvironment(places: Places, settings: RestateSettings): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    RESTATE_BASE_DIR: places.baseDir,
    // A killed server leaves its temporary files: here they are found again, and removed.
    TMPDIR: temporaryDir(places.baseDir),
    RESTATE_BIND_PORT: String(places.fabric),
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${places.ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${places.admin}`,
    ...(settings.identityKeyFile !== undefined && {
      RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: settings.identityKeyFile,
    }),
    ...settings.environment,
  };
}

/** The platform's own binary: npm's wrapper around it would be one more process to watch. */
function restateBinary(): string {
  const platform = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve(
      "@restatedev/restate-server/package.json",
    );
    return createRequire(wrapper).resolve(`${platform}/bin/restate-server`);
  } catch (error) {
    throw new Error(
      `there is no embedded Restate here: ${platform} is not installed; install with optional ` +
        "packages, or set restate.ingress_url and restate.admin_url",
      { cause: error },
    );
  }
}

const configFile = fileURLToPath(new URL("../../restate.toml", import.meta.url));

/** Ready means that the partitions answer: the health address answers earlier. */
async function isReady(adminUrl: string): Promise<boolean> {
  try {
    const answer = await request(`${adminUrl}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query: "SELECT count(1) FROM sys_invocation" }),
      headersTimeout: 5_000,
      bodyTimeout: 5_000,
    });
    await answer.body.dump();
    return answer.statusCode === 200;
  } catch {
    return false;
  }
}
