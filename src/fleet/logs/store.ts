/** The table `sentinel_logs`: of each sentinel the last lines of what its newest failed deploy had started. */
import { hasReasonCode, type ReasonCode, reasonCodeOf } from "#fleet/contract.ts";
import {
  type Driver,
  type FailedContainer,
  type LogTail,
  UnreachableError,
} from "#fleet/drivers/driver.ts";
import { unlessAborted, unlessLate } from "#kernel/async.ts";
import type { Database } from "#kernel/database.ts";
import type { Log } from "#kernel/log.ts";
import { type LogBudget, mostAlike } from "./budget.ts";

// Keeps the end of a failed deploy's log. Whatever happens to a log, the deploy's result is what it would be without.

/** `run`: the run of a rollout that wanted it. */
export type FailedDeploy = {
  sentinelId: string;
  image: string;
  deployId: string;
  run?: string | undefined;
  reason: string;
};

/** Never throws, and takes two seconds at most. `readLog`: absent, the driver is asked for what the deploy has started. */
export type SaveLog = (failed: FailedDeploy, readLog?: FailedContainer["readLog"]) => Promise<void>;

type Parts = {
  driver: Pick<Driver, "readLog">;
  store: Pick<LogStore, "keep">;
  budget: LogBudget;
  /** The number of stored lines; 0: none. */
  lines: number;
  log: Log;
};

/** The whole of it, and of that reading the log: what came until then is kept. */
const limitMs = 2_000;
const readLimitMs = 1_200;

/** From the beginning: how long it waits for a turn to read, and when it has to have read. */
const waitLimitMs = 1_300;
const readUntilMs = 1_800;

/** The reasons of a sentinel that has started something; before that nothing can have been printed. */
const codesOfStarted: readonly ReasonCode[] = [
  "crash_loop",
  "oom_killed",
  "start_error",
  "port_conflict",
  "probe_failing",
  "progress_deadline",
  "timeout_unknown",
];

export function createSaveLog({ driver, store, budget, lines, log }: Parts): SaveLog {
  const { readLog: readDriverLog } = driver;
  if (readDriverLog === undefined || lines === 0) return async () => {};

  const takeTurn = async (way: string, deployId: string) => {
    const limit = AbortSignal.timeout(waitLimitMs);
    for (;;) {
      const turn = budget.take(way, deployId);
      if (turn !== "wait" || limit.aborted) return turn;
      await unlessAborted(budget.settled(way), limit).catch(() => {});
    }
  };

  const read = async (failed: FailedDeploy, readLog: FailedContainer["readLog"], limit: number) => {
    const tail = await readLog({ lines, signal: AbortSignal.timeout(limit) }).catch(toAbsent);
    const { text, note } = tail.absent === undefined ? tail : { text: "", note: tail.absent };
    await store.keep(failed.sentinelId, { ...failed, lines: text, note });
    return text === "" ? "none" : "kept";
  };

  const keep = async (
    failed: FailedDeploy,
    readLog: FailedContainer["readLog"],
    signal: AbortSignal,
  ) => {
    const { sentinelId, deployId } = failed;
    const way = wayOf(failed);
    const beganMs = performance.now();
    const turn = await takeTurn(way, deployId);
    if (turn === "kept") return;
    if (turn !== "read") return store.keep(sentinelId, { ...failed, lines: "", note: notes[turn] });
    const leftMs = Math.round(readUntilMs - (performance.now() - beganMs));
    let share: "kept" | "none" = "none";
    try {
      const limit = Math.max(0, Math.min(readLimitMs, leftMs));
      share = await unlessAborted(read(failed, readLog, limit), signal);
    } finally {
      // Whatever has happened: else the others of this way would wait for it for ever.
      budget.settle(way, deployId, share);
    }
  };

  const ofDriver =
    ({ sentinelId, deployId }: FailedDeploy): FailedContainer["readLog"] =>
    (call) =>
      readDriverLog({ sentinelId, deployId }, call);

  return async (failed, readLog = ofDriver(failed)) => {
    if (!hasStarted(failed.reason)) return;
    try {
      await unlessLate((signal) => keep(failed, readLog, signal), { limitMs, late });
    } catch (error) {
      const { sentinelId: sentinel } = failed;
      log.warn({ sentinel, detail: (error as Error).message }, "log of a failed deploy not kept");
    }
  };
}

/** True if anything was started that can have printed something. */
export function hasStarted(reason: string): boolean {
  const code = reasonCodeOf(reason);
  return !hasReasonCode(reason) || (code !== undefined && codesOfStarted.includes(code));
}

function wayOf({ run = "", image, reason }: FailedDeploy): string {
  return JSON.stringify([run, image, reasonCodeOf(reason) ?? reason]);
}

function toAbsent(error: Error): LogTail {
  if (error instanceof UnreachableError) return { absent: error.message };
  throw error;
}

/** The notes of deploys that had no turn to be read. */
const notes = {
  enough: `not kept: ${mostAlike} others failed in the same way before`,
  wait: `not kept: ${mostAlike} others that failed in the same way were being read`,
  tried: "not kept: few of those that failed in the same way before had a log",
};
const late = new Error(`it took longer than ${limitMs / 1_000} seconds`);

/** The stored log tail of a failed deploy. `lines` empty: nothing, and `note` says why. */
type StoredLog = {
  deployId: string;
  image: string;
  /** Why the deploy failed. */
  reason: string;
  lines: string;
  note?: string | undefined;
};

/** A sentinel, and what is kept of it; null: nothing. */
export type FoundLog = {
  id: string;
  fleet: string;
  image: string;
  runningImage: string;
  /** Its last deploy; null: there was none. */
  deployId: string | null;
  /** Why that failed; null: it did not. */
  failure: string | null;
  kept: (StoredLog & { at: string }) | null;
};

export type LogStore = ReturnType<typeof createLogStore>;

export function createLogStore(database: Database) {
  return {
    /** Replaces the sentinel's log, for the same deploy only by lines. Ignored: unknown sentinels, superseded deploys. */
    async keep(sentinelId: string, { deployId, image, reason, lines, note }: StoredLog) {
      await database.query(keepLog, [sentinelId, deployId, image, reason, lines, note ?? null]);
    },

    async find(sentinelId: string): Promise<FoundLog | undefined> {
      const { rows } = await database.query(findLog, [sentinelId]);
      return rows.map(toFound)[0];
    },

    /** Other sentinels whose lines are kept and whose deploys failed with this image by this code, newest first. */
    async similar(sentinelId: string, { image, code }: { image: string; code: string }) {
      const { rows } = await database.query<{ id: string }>(findSimilar, [sentinelId, image, code]);
      return rows.map(({ id }) => id);
    },
  };
}

type Row = {
  id: string;
  fleet: string;
  image: string;
  running_image: string;
  failure: string | null;
  deploy_id: string | null;
  at: Date | null;
  kept_deploy_id: string;
  kept_image: string;
  reason: string;
  lines: string;
  note: string | null;
};

function toFound(row: Row): FoundLog {
  const { id, fleet, image, failure, at, reason, lines, note } = row;
  const kept = at && {
    deployId: row.kept_deploy_id,
    image: row.kept_image,
    reason,
    lines,
    ...(note !== null && { note }),
    at: at.toISOString(),
  };
  const { running_image: runningImage, deploy_id: deployId } = row;
  return { id, fleet, image, runningImage, deployId, failure, kept };
}

const findLog = `
  SELECT s.id, s.fleet, s.image, s.running_image, s.deploy_id,
    CASE s.deploy_status WHEN 'failed' THEN coalesce(s.deploy_reason, '') END AS failure,
    l.at, l.deploy_id AS kept_deploy_id, l.image AS kept_image, l.reason, l.lines, l.note
  FROM sentinels AS s LEFT JOIN sentinel_logs AS l ON l.sentinel_id = s.id
  WHERE s.id = $1`;

const keepLog = `
  INSERT INTO sentinel_logs AS l (sentinel_id, deploy_id, image, reason, lines, note)
  SELECT id, $2, $3, $4, $5, $6 FROM sentinels
  WHERE id = $1 AND (deploy_id IS NULL OR deploy_id = $2)
  ON CONFLICT (sentinel_id) DO UPDATE SET deploy_id = excluded.deploy_id, image = excluded.image,
    reason = excluded.reason, at = now(), lines = excluded.lines, note = excluded.note
  WHERE l.deploy_id <> excluded.deploy_id OR excluded.lines <> ''`;

const findSimilar = `
  SELECT sentinel_id AS id FROM sentinel_logs
  WHERE sentinel_id <> $1 AND image = $2 AND split_part(reason, ':', 1) = $3 AND lines <> ''
  ORDER BY at DESC LIMIT 3`;
