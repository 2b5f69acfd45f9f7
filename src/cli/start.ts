/** `vedette start`: runs the program until SIGTERM or SIGINT. */
import { flushCompileCache } from "node:module";
import { type App, startApp } from "#app/app.ts";
import { type Role, roles } from "#app/roles.ts";
import { type Config, readConfig } from "#config.ts";
import { createLog, type Log } from "#kernel/log.ts";
import { bannerLines, readyFields } from "./start-banner.ts";
import { untilStopSignal } from "./stop-signal.ts";

export type StartOptions = { config?: string | undefined; role?: Role[] | undefined };

/**
 * Resolves when everything has been stopped after SIGTERM or SIGINT, also during the start. When the program
 * cannot continue it stops everything as well, and throws the reason.
 */
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
  // What a log is made of is kept, and read by others: there the link would sign them in.
  const ticket = config.log.format === "json" ? undefined : await app.issueTicket();
  process.stdout.write(`${bannerLines(ready, ticket).join("\n")}\n`);
}
