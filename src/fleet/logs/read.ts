/** Answers `FleetService.Log`: what is kept of a failed deploy, or what a sentinel prints now. */
import pLimit from "p-limit";
import type { z } from "zod";
import {
  type FleetProblemCode,
  reasonCodeOf,
  type SentinelLog,
  type SentinelLogRequest,
} from "#fleet/contract.ts";
import { type Driver, type LogTail, UnreachableError } from "#fleet/drivers/driver.ts";
import { unlessLate, within } from "#kernel/async.ts";
import { ProblemError } from "#kernel/problem.ts";
import { type FoundLog, hasStarted, type LogStore } from "./store.ts";

/** `lines`: how many are read; 0: none. */
export type FleetLogs = { name: string; driver: Pick<Driver, "readLog">; lines: number };

export type ReadLog = (request: z.output<typeof SentinelLogRequest>) => Promise<SentinelLog>;

type Parts = { store: Pick<LogStore, "find" | "similar">; fleets: ReadonlyMap<string, FleetLogs> };

/** A fleet is asked for so many at once, whoever asks. */
const readsAtOnce = 8;
const readLimitMs = 8_000;
const dripLimitMs = 3_000;

/** Throws a 404 for a sentinel that is not known. A log that cannot be read is an answer that says why. */
export function createReadLog({ store, fleets }: Parts): ReadLog {
  const limit = pLimit(readsAtOnce);

  const readRunning = async ({ id, fleet, runningImage }: FoundLog): Promise<SentinelLog> => {
    const about = { sentinel: id, image: runningImage };
    const logs = fleets.get(fleet);
    if (logs === undefined) return { ...about, lines: [], note: lostFleet };
    const whyNone = noneOf(logs);
    if (whyNone !== undefined) return { ...about, lines: [], note: whyNone };
    const tail = await readTail(id, logs);
    const at = new Date().toISOString();
    if (tail.absent !== undefined) return { ...about, lines: [], at, note: tail.absent };
    const lines = toLines(tail.text);
    const note = tail.note ?? (lines.length === 0 ? silent : undefined);
    return { ...about, lines, at, ...(note !== undefined && { note }) };
  };

  const readTail = async (sentinelId: string, { driver, lines }: FleetLogs): Promise<LogTail> => {
    const ask = (signal: AbortSignal) =>
      limit(async () => {
        signal.throwIfAborted();
        // The part that came until then is an answer, too.
        const ended = within(dripLimitMs, signal);
        return (await driver.readLog?.({ sentinelId }, { lines, signal: ended })) ?? { absent: "" };
      });
    try {
      return await unlessLate(ask, { limitMs: readLimitMs, late });
    } catch (error) {
      if (error instanceof UnreachableError) return { absent: error.message };
      throw error;
    }
  };

  const readFailed = async (found: FoundLog): Promise<SentinelLog> => {
    const logs = fleets.get(found.fleet);
    const answer = describeFailed(found, logs && noneOf(logs));
    if (answer.lines.length > 0 || answer.reason === undefined) return answer;
    const { image, reason } = answer;
    const similar = await store.similar(found.id, { image, code: reasonCodeOf(reason) ?? reason });
    return similar.length === 0 ? answer : { ...answer, similar };
  };

  return async ({ sentinel, which }) => {
    const found = await store.find(sentinel);
    if (found === undefined) throw unknownSentinel(sentinel);
    return which === "running" ? readRunning(found) : readFailed(found);
  };
}

/** Describes the newest failed deploy. `whyNone`: why its fleet has no logs. */
function describeFailed(found: FoundLog, whyNone?: string): SentinelLog {
  const { id: sentinel, image, failure, kept } = found;
  if (kept !== null && whyNone === undefined) return describeStored(found, kept);
  const note = failure === null && kept === null ? noneFailed : (whyNone ?? whyNotStored(failure));
  return { sentinel, image, lines: [], ...(failure && { reason: failure }), note };
}

function describeStored(
  { id: sentinel, deployId, failure }: FoundLog,
  kept: NonNullable<FoundLog["kept"]>,
): SentinelLog {
  const { image, reason, at } = kept;
  const lines = toLines(kept.lines);
  const isOlder = failure !== null && kept.deployId !== deployId;
  const note = isOlder ? ofEarlier : (kept.note ?? (lines.length === 0 ? silent : undefined));
  return { sentinel, image, lines, at, reason, ...(note !== undefined && { note }) };
}

function whyNotStored(failure: string | null): string {
  return failure !== null && !hasStarted(failure) ? neverStarted : notStored;
}

/** undefined: the fleet's sentinels have logs, and they are read. */
function noneOf({ driver, lines }: FleetLogs): string | undefined {
  if (driver.readLog === undefined) return "this fleet's driver reads no logs";
  return lines === 0 ? "fleet.log_lines is 0: no log is read or kept" : undefined;
}

function toLines(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

function unknownSentinel(id: string): ProblemError<FleetProblemCode> {
  const detail = `there is no sentinel ${id}`;
  return new ProblemError<FleetProblemCode>({ status: 404, code: "unknown_sentinel", detail });
}

const late = new UnreachableError(`unreachable: no log within ${readLimitMs / 1_000} seconds`);
const lostFleet = "the settings have no fleet of this name";
const noneFailed = "no deploy of this sentinel has failed, or not lately";
const neverStarted = "nothing was started that could have printed something";
const notStored = "no log of this failure was kept";
const ofEarlier = "these lines are of an earlier failed deploy: of the last one none were kept";
const silent = "it has printed nothing";
