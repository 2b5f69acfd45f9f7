/** The Restate server that npm brings, for a machine that has no other. */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { request } from "undici";
import type { Log } from "#kernel/log.ts";
import { takePort } from "./ports.ts";
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

/** Starts the server on loopback and keeps it running. Its data is in `<dataDir>/restate`. */
export async function startRestate(settings: RestateSettings): Promise<RestateServer> {
  const baseDir = path.join(settings.dataDir, "restate");
  mkdirSync(baseDir, { recursive: true, mode: 0o700 });
  const lifecycle = {
    pidFile: path.join(settings.dataDir, "restate.pid.json"),
    stopSignal: "SIGTERM",
    stopWithinMs: 10_000,
  } as const;
  await endLeftover(lifecycle);
  const ingress = await takePort(settings.ingressPort, "restate.ingress_port");
  const admin = await takePort(settings.adminPort, "restate.admin_port");
  const fabric = await takePort(0, "");
  const adminUrl = `http://127.0.0.1:${admin}`;
  const environment = serverEnvironment({ ingress, admin, fabric, baseDir }, settings);
  const server = await superviseServer({
    ...lifecycle,
    name: "restate",
    launch: () =>
      spawn(restateBinary(), ["--no-logo", "--config-file", configFile()], {
        env: environment,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    isReady: () => isReady(adminUrl),
    readyWithinMs: 60_000,
    log: settings.log,
  });
  return { ...server, ingressUrl: `http://127.0.0.1:${ingress}`, adminUrl };
}

type Places = { ingress: number; admin: number; fabric: number; baseDir: string };

function serverEnvironment(places: Places, settings: RestateSettings): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    RESTATE_BASE_DIR: places.baseDir,
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
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`;
  return createRequire(import.meta.url).resolve(name);
}

function configFile(): string {
  return new URL("../../restate.toml", import.meta.url).pathname;
}

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
