/** Records each minute what a fleet's sentinels have counted, so that a later rollout can compare two images. */
import { pause, startBackground, unlessAborted, within } from "#kernel/async.ts";
import type { Log } from "#kernel/log.ts";
import { chooseBounds, countMinute, type Snapshot } from "./counters.ts";
import { type CountStore, minuteMs } from "./store.ts";

/** Reads the counters of all sentinels now. Throws if none can be read. */
export type ReadCounters = (signal: AbortSignal) => Promise<Snapshot>;

type RecorderParts = {
  fleet: string;
  store: Pick<CountStore, "claim" | "write" | "readHour">;
  read: ReadCounters;
  log: Log;
};

/** A reading that takes longer is of no minute. */
const readLimitMs = 30_000;
/** The other processes leave a minute for so long to the one that has recorded the minute before. */
const deferMs = 10_000;
/** The bounds of slow requests are chosen anew so often. */
const boundsEveryMinutes = 10;

/** Of all workers one records a minute: the one that has read the minute before, as long as it runs. */
export function startRecorder(parts: RecorderParts): { stop: () => Promise<void> } {
  const attempt = createAttempt(parts);
  return startBackground(async (signal) => {
    let last: Reading | undefined;
    while (!signal.aborted) {
      // A timer may fire a little early.
      await pause(minuteMs - (Date.now() % minuteMs) + 50, signal);
      const at = Math.floor(Date.now() / minuteMs) * minuteMs;
      const isOurs = last?.at === at - minuteMs;
      if (!isOurs) await pause(deferMs, signal);
      if (signal.aborted) return;
      last = await attempt({ at, before: isOurs ? last : undefined, signal });
    }
  });
}

/** Records a minute, and logs when minutes can no longer be recorded, and when they can again. */
function createAttempt(parts: RecorderParts) {
  let isFailing = false;
  return async (minute: Minute): Promise<Reading | undefined> => {
    try {
      const reading = await recordMinute(parts, minute);
      if (isFailing) parts.log.info("counters of sentinels read again");
      isFailing = false;
      return reading;
    } catch (error) {
      const detail = (error as Error).message;
      const isNews = !isFailing && !minute.signal.aborted;
      if (isNews) parts.log.warn({ detail }, "counters of sentinels not read");
      isFailing = true;
      return undefined;
    }
  };
}

/** `at`: Unix ms of the start of a minute. */
export type Reading = { at: number; snapshot: Snapshot; bounds: number[] };

type Minute = { at: number; before: Reading | undefined; signal: AbortSignal };

/** Records the minute that ends at `at`. Returns the reading for the next one; undefined: another process has it. */
export async function recordMinute(
  { fleet, store, read }: Omit<RecorderParts, "log">,
  { at, before, signal }: Minute,
): Promise<Reading | undefined> {
  const minute = at - minuteMs;
  if (!(await store.claim(fleet, minute))) return undefined;
  const whole = within(readLimitMs, signal);
  const snapshot = await unlessAborted(read(whole), whole);
  if (before === undefined) {
    const [newest] = await store.readHour(fleet, minute);
    return { at, snapshot, bounds: newest?.bounds ?? [] };
  }
  const isTime = before.bounds.length === 0 || (at / minuteMs) % boundsEveryMinutes === 0;
  const bounds = isTime ? await choose(before) : before.bounds;
  await store.write(fleet, minute, countMinute(before.snapshot, snapshot, bounds));
  return { at, snapshot, bounds };

  async function choose({ bounds: kept, snapshot: was }: Reading): Promise<number[]> {
    const hour = await store.readHour(fleet, minute);
    return chooseBounds(kept, [...hour, countMinute(was, snapshot, [])]);
  }
}
