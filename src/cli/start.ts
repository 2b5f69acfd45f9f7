/** `vedette start`: runs the program until SIGTERM or SIGINT. */
import { flushCompileCache } from "node:module";
import path from "node:path";
import { type App, startApp } from "#app/app.ts";
import { type Role, roles } from "#app/base.ts";
import { consoleUrlOf } from "#app/console-links.ts";
import { type Config, readConfig } from "#config.ts";
import { ticketMinutes } from "#console/contract.ts";
import type { Endpoints } from "#embedded/contract.ts";
import { createLog, type Log } from "#kernel/log.ts";
import { releaseMemoryOfStart } from "#kernel/process.ts";

/** A terminal and npm, or `timeout`, both forward the same signal: two within this time count as one. */
const sameSignalMs = 1_000;

/** Resolves at SIGTERM or SIGINT. A second one exits at once; nothing is lost, and local sentinels go on serving. */
export function untilStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstAtMs: number | undefined;
    const onSignal = () => {
      if (firstAtMs !== undefined && performance.now() - firstAtMs > sameSignalMs) process.exit(1);
      firstAtMs ??= performance.now();
      resolve();
    };
    process.on("SIGTERM", onSignal);
    process.on("SIGINT", onSignal);
  });
}

export type StartOptions = { config?: string | undefined; role?: Role[] | undefined };

/** Resolves when all is stopped after a signal, also during the start. Throws the reason why it cannot continue. */
export async function runStart(options: StartOptions): Promise<void> {
  const config = readConfig({ file: options.config, environment: process.env });
  const log = createLog(config.log);
  const stopping = new AbortController();
  const stopSignal = untilStopSignal().then((): undefined => {
    log.info("stopping");
    stopping.abort();
  });
  const app = await startUnlessStopped(config, {
    roles: roles.filter((role) => options.role?.includes(role) ?? true),
    log,
    signal: stopping.signal,
  });
  const failure = app && (await untilStopped(app, { config, stopSignal, log }));
  log.info("stopped");
  if (failure !== undefined) throw failure;
}

type Start = { roles: Role[]; log: Log; signal: AbortSignal };

/** Undefined when a signal stopped the program before it was ready. */
async function startUnlessStopped(config: Config, start: Start): Promise<App | undefined> {
  try {
    return await startApp(config, start);
  } catch (error) {
    if (start.signal.aborted && error === start.signal.reason) return undefined;
    throw error;
  }
}

/** Runs until a stop signal or a failure, then stops the program. Returns the failure. */
async function untilStopped(
  app: App,
  { config, stopSignal, log }: { config: Config; stopSignal: Promise<undefined>; log: Log },
): Promise<Error | undefined> {
  await announce(app, { config, log });
  // Else it is stored at the end, which a program that is killed does not reach.
  flushCompileCache();
  releaseMemoryOfStart();
  const failure = await Promise.race([stopSignal, app.failed]);
  if (failure !== undefined) {
    log.error({ detail: failure.message }, "cannot continue");
    log.info("stopping");
  }
  await app.stop();
  return failure;
}

async function announce(app: App, { config, log }: { config: Config; log: Log }): Promise<void> {
  const isFleetLocal = config.fleet.driver === "process";
  const nobody = await app.readNobody().catch(() => undefined);
  const ready = { ...app, publicUrl: config.control.public_url, isFleetLocal, nobody };
  if (process.stdout.isTTY !== true) {
    log.info(readyFields(ready), "vedette is ready");
    return;
  }
  // Others read logs: there the link would sign them in.
  const ticket = config.log.format === "json" ? undefined : await app.issueTicket();
  process.stdout.write(`${bannerLines(ready, ticket).join("\n")}\n`);
}

/** Facts that a start prints once the program is ready: a few lines on a terminal, fields of one line in a log. */
export type Ready = {
  endpoints: Endpoints;
  dataDir: string;
  /** The address of `control` for browsers; empty: the one at which it listens. */
  publicUrl: string;
  /** True if the sentinels are those of this machine, which take any image. */
  isFleetLocal: boolean;
  /** Why no alert leaves the program; absent: some do. */
  nobody?: string | undefined;
};

const exampleRollout = "npx vedette rollout start registry.example.com/vedette/sentinel:v2 --wait";

/** `ticket` makes the console's address a link that signs in; undefined: it is the plain address. */
export function bannerLines(ready: Ready, ticket?: string): string[] {
  const { console, docs, credentials } = placesOf(ready);
  const hasConsole = console !== undefined;
  const link = ticket === undefined ? "" : `#ticket=${ticket}`;
  const once = `  The link signs in once, within ${ticketMinutes} minutes; a new one: npx vedette console`;
  return [
    "",
    "  Vedette is ready.",
    ...(docs === undefined ? [] : [line("Public API", docs)]),
    line("Credentials", credentials),
    line("Addresses", path.join(ready.dataDir, "endpoints.json")),
    ...(ready.nobody === undefined ? [] : [line("Alerts", describeNobody(ready.nobody))]),
    "",
    ...(hasExample(ready) ? ["  Try a rollout:", `    ${exampleRollout}`, ""] : []),
    // Last, where it is found although log lines follow.
    ...(hasConsole && ticket !== undefined ? [once] : []),
    ...(hasConsole ? [line("Console", `${console}${link}`), ""] : []),
  ];
}

function describeNobody(why: string): string {
  return `No alert leaves this program yet: ${why}. What to set: npx vedette doctor`;
}

function line(name: string, value: string): string {
  return `    ${name.padEnd(12)} ${value}`;
}

/** Never with a ticket: a log is kept, and others read it. */
export function readyFields(ready: Ready): Record<string, unknown> {
  const { console, docs, credentials } = placesOf(ready);
  return {
    ...ready.endpoints,
    ...(console !== undefined && { console }),
    ...(docs !== undefined && { docs }),
    credentials,
    ...(ready.nobody !== undefined && { alerts: describeNobody(ready.nobody) }),
    ...(hasExample(ready) && { try: exampleRollout }),
  };
}

/** False if no gateway of this process can be called, and for a fleet of one's own, which has other images. */
function hasExample({ endpoints: { control }, isFleetLocal }: Ready): boolean {
  return control !== undefined && isFleetLocal;
}

function placesOf({ endpoints: { api, control }, dataDir, publicUrl }: Ready) {
  return {
    console: control === undefined ? undefined : consoleUrlOf(publicUrl || control),
    docs: api === undefined ? undefined : `${api}/docs`,
    credentials: path.join(dataDir, "credentials.json"),
  };
}
