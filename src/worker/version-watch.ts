/** Looks after invocations that an earlier version of the program has begun. */
import { startBackground } from "#kernel/background.ts";
import type { Log } from "#kernel/log.ts";
import { pause } from "#kernel/pause.ts";
import type { RestateAdmin } from "./restate-admin.ts";
import { createWedgedReader, type WedgedInvocation, type WedgedReader } from "./wedged.ts";

export type VersionWatchSettings = {
  admin: RestateAdmin;
  /** Where Restate reaches the worker, without a path. */
  workerUrl: string;
  revision: string;
  /** The services that are looked after. */
  services: readonly string[];
  /** Frees what the wedged ones hold. Called again for those that are still there. */
  release: (wedged: WedgedInvocation[], reader: WedgedReader) => Promise<void>;
  log: Log;
};

/** While something of an earlier version has not ended; and else, in case one was overlooked. */
const looksMs = { inherited: 1_000, idle: 30_000 };

/** Looks from now on until it is stopped; call it once the worker is registered. */
export function watchVersions(settings: VersionWatchSettings): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(settings, signal));
}

async function watch(settings: VersionWatchSettings, signal: AbortSignal): Promise<void> {
  const { revision, log } = settings;
  const reader = createWedgedReader(settings.admin, settings);
  const look = createLook(settings, reader);
  let hasInherited = true;
  let isFirst = true;
  let problem: string | undefined;
  while (!signal.aborted) {
    try {
      const inherited = await reader.inherited(revision);
      if (isFirst) await wake(settings.admin, inherited);
      isFirst = false;
      hasInherited = (await look()) || inherited.length > 0;
      problem = undefined;
    } catch (err) {
      // Once, or again when the cause is another one: it is asked for each second.
      const cause = (err as Error).message.replaceAll(/\binv_\w+/g, "an invocation");
      if (cause !== problem) log.warn({ err }, "invocations of earlier versions not looked at");
      problem = cause;
    }
    const waitMs = hasInherited ? looksMs.inherited : looksMs.idle;
    await pause(waitMs, signal);
  }
}

/** What sleeps, or waits to be tried again, shows at once whether it can go on. */
async function wake(admin: RestateAdmin, found: { id: string; status: string }[]): Promise<void> {
  const asleep = found.filter(({ status }) =>
    ["suspended", "paused", "backing-off"].includes(status),
  );
  await admin.change(
    "resume",
    asleep.map(({ id }) => id),
  );
}

/**
 * One look; whether something was stuck. An attempt may be one of the version before, or of another
 * worker behind the same address: who is stuck is tried once more, and is wedged when that failed too.
 */
function createLook({ admin, release, log }: VersionWatchSettings, reader: WedgedReader) {
  let tried = new Map<string, string | null>();
  return async (): Promise<boolean> => {
    const stuck = await reader.stuck();
    const isWedged = ({ id, startedAt }: (typeof stuck)[number]) =>
      tried.has(id) && tried.get(id) !== startedAt;
    const wedged = stuck.filter(isWedged);
    tried = new Map(stuck.map(({ id, startedAt }) => [id, startedAt]));
    const fresh = stuck.filter((one) => !wedged.includes(one));
    await admin.change(
      "resume",
      fresh.map(({ id }) => id),
    );
    if (wedged.length > 0) {
      const targets = wedged.map(({ service, handler }) => `${service}/${handler}`);
      log.warn({ targets: [...new Set(targets)] }, "invocations of another version cannot go on");
      await release(wedged, reader);
    }
    return stuck.length > 0;
  };
}
