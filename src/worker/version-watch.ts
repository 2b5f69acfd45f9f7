/** Finds invocations that an earlier version started and that cannot continue, and releases them. */
import { pause, startBackground } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { moveToServing, type RestateAdmin } from "./restate-admin.ts";
import { createWedgedReader, type WedgedInvocation, type WedgedReader } from "./wedged.ts";

export type VersionWatchSettings = {
  admin: RestateAdmin;
  revision: string;
  services: readonly string[];
  /** Registers this worker again. */
  takeBack: () => Promise<unknown>;
  /** Ends wedged invocations. Called again for those that have not ended. */
  release: (wedged: WedgedInvocation[], reader: WedgedReader) => Promise<void>;
  log: Log;
};

/** While invocations of an earlier version exist; and otherwise, in case one was overlooked. */
const pollEveryMs = { inherited: 1_000, idle: 30_000 };

/** Polls until it is stopped; must be called after the worker is registered. */
export function watchVersions(settings: VersionWatchSettings): { stop: () => Promise<void> } {
  return startBackground((signal) => watch(settings, signal));
}

async function watch(settings: VersionWatchSettings, signal: AbortSignal): Promise<void> {
  const { revision, log } = settings;
  const reader = createWedgedReader(settings.admin, settings.services);
  const releaseStuck = createStuckRelease(settings, reader);
  let hasInherited = true;
  let isFirst = true;
  let problem: string | undefined;
  while (!signal.aborted) {
    try {
      const inherited = await reader.inherited(revision);
      if (isFirst) await resumeAll(settings.admin, inherited);
      isFirst = false;
      await rescueUnanswered(settings, reader);
      hasInherited = (await releaseStuck()) || inherited.length > 0;
      problem = undefined;
    } catch (err) {
      // Logged when the cause changes only: the watch polls each second.
      const cause = (err as Error).message.replaceAll(/\binv_\w+/g, "an invocation");
      if (cause !== problem) log.warn({ err }, "invocations of earlier versions could not be read");
      problem = cause;
    }
    const waitMs = hasInherited ? pollEveryMs.inherited : pollEveryMs.idle;
    await pause(waitMs, signal);
  }
}

/** Resumes invocations that are suspended or wait for a retry, to find out at once if they can continue. */
async function resumeAll(
  admin: RestateAdmin,
  found: { id: string; status: string }[],
): Promise<void> {
  const inactive = found.filter(({ status }) =>
    ["suspended", "paused", "backing-off"].includes(status),
  );
  await admin.change(
    "resume",
    inactive.map(({ id }) => id),
  );
}

/**
 * Continues invocations at whose address nobody answers on the version that serves, and serves in place of one that was
 * started last and has ended for good.
 */
async function rescueUnanswered(
  { admin, revision, takeBack, log }: VersionWatchSettings,
  reader: WedgedReader,
): Promise<void> {
  const unanswered = await reader.unanswered();
  if (unanswered.some(({ isOrphaned, servedBy }) => !isOrphaned && servedBy !== revision)) {
    log.warn({ revision }, "this version serves again, since nobody answers for a later one");
    await takeBack();
  }
  const orphaned = unanswered.filter(({ isOrphaned }) => isOrphaned);
  if (orphaned.length === 0) return;
  log.info({ invocations: orphaned.length }, "invocations of a version that is gone are continued");
  await moveToServing(admin, orphaned);
}

/**
 * Returns a function that releases wedged invocations and returns whether any is stuck. The last attempt of
 * a stuck one may have been made by the version before, or by another worker behind the same address.
 * Therefore it is resumed once, and counts as wedged when that attempt fails too.
 */
function createStuckRelease({ admin, release, log }: VersionWatchSettings, reader: WedgedReader) {
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
