/** `vedette start`: runs the program until it is told to stop. */
import path from "node:path";
import { type App, type Role, roles, startApp } from "#app/app.ts";
import { type Config, readConfig } from "#config.ts";
import { createLog, type Log } from "#kernel/log.ts";
import { stopAsked } from "./stop-asked.ts";

export type StartOptions = { config?: string | undefined; role?: string[] | undefined };

/**
 * Resolves when everything has been stopped after SIGTERM or SIGINT, also while it starts. When the program
 * cannot go on it stops everything as well, and throws why.
 */
export async function runStart(options: StartOptions): Promise<void> {
  const config = readConfig({ file: options.config, environment: process.env });
  const log = createLog(config.log);
  const stopping = new AbortController();
  const asked = stopAsked().then((): undefined => {
    log.info("stopping");
    stopping.abort();
  });
  const app = await startUnlessStopped(config, {
    roles: readRoles(options.role),
    log,
    signal: stopping.signal,
  });
  const failure = app && (await untilStopped(app, { asked, log }));
  log.info("stopped");
  if (failure !== undefined) throw failure;
}

type Start = { roles: Role[]; log: Log; signal: AbortSignal };

/** Undefined when it was told to stop before it was ready, and has. */
async function startUnlessStopped(config: Config, start: Start): Promise<App | undefined> {
  try {
    return await startApp(config, start);
  } catch (error) {
    if (start.signal.aborted && error === start.signal.reason) return undefined;
    throw error;
  }
}

/** Answers why, when nobody has asked for it. */
async function untilStopped(
  app: App,
  { asked, log }: { asked: Promise<undefined>; log: Log },
): Promise<Error | undefined> {
  announce(app, log);
  const failure = await Promise.race([asked, app.failed]);
  if (failure !== undefined) {
    log.error({ detail: failure.message }, "cannot go on");
    log.info("stopping");
  }
  await app.stop();
  return failure;
}

function readRoles(names: string[] | undefined): Role[] {
  if (names === undefined || names.length === 0) return [...roles];
  const unknown = names.filter((name) => !roles.some((role) => role === name));
  if (unknown.length > 0) {
    throw new Error(`there is no role ${unknown.join(", ")}; roles are ${roles.join(", ")}`);
  }
  return roles.filter((role) => names.includes(role));
}

const exampleRollout = "npx vedette rollout start registry.example.com/vedette/sentinel:v2 --wait";

function announce({ endpoints, dataDir }: App, log: Log): void {
  // Without the gateway in this process there is nobody here to ask for one.
  const tryThis = endpoints.control === undefined ? undefined : exampleRollout;
  const credentials = path.join(dataDir, "credentials.json");
  if (!process.stdout.isTTY) {
    const hint = tryThis === undefined ? {} : { try: tryThis };
    log.info({ ...endpoints, credentials, ...hint }, "vedette is ready");
    return;
  }
  const example = tryThis === undefined ? [] : ["  Try a rollout:", `    ${tryThis}`, ""];
  const lines = [
    "",
    "  Vedette is ready.",
    ...Object.entries(places).flatMap(([key, label]) => {
      const address = endpoints[key as keyof typeof places];
      return address === undefined ? [] : [`    ${label.padEnd(16)} ${address}`];
    }),
    `    ${"Credentials".padEnd(16)} ${credentials}`,
    "",
    ...example,
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

const places = {
  api: "Public API",
  control: "Rollouts",
  restate_ingress: "Restate ingress",
  restate_admin: "Restate console",
  metrics: "Metrics",
} as const;
