/** Cleans and bounds everything that a fleet returns, for every driver alike. */
import { cleanLog, cleanWords, type Log } from "#kernel/log.ts";
import { cleanText, isClean } from "#kernel/text.ts";
import {
  type Driver,
  type DriverCall,
  type FailedContainer,
  type ListedSentinel,
  type ReadDriverLog,
  type SentinelObservation,
  UnreachableError,
} from "./driver.ts";

const maxId = 300;
const maxRegion = 100;
const maxImage = 512;
const maxReason = 1_024;

/** The number of left-out sentinels that a log line names. */
const namedAtMost = 5;

/** Wraps the driver so that its results are cleaned and bounded. */
export function boundDriver(driver: Driver, log: Log): Driver {
  const { readLog, readCounters } = driver;
  return {
    ...driver,
    ...(readLog && { readLog: boundLog(readLog) }),
    ...(readCounters && {
      readCounters: async (signal) => {
        const counters = await bounded(() => readCounters(signal));
        return new Map([...counters].filter(([id]) => isUsable(id)));
      },
    }),
    list: async (signal) => {
      const listed = await bounded(() => driver.list(signal));
      const { usable = [], odd = [] } = Object.groupBy(listed, ({ id }) =>
        isUsable(id) ? "usable" : "odd",
      );
      if (odd.length > 0) warnOfLeftOut(odd, log);
      return usable.map(cleanSentinel);
    },
    apply: async (order, call) => {
      const { failure, seen, ...applied } = await bounded(() => driver.apply(order, call));
      if (failure !== undefined) return { ...applied, failure: cleanReason(failure) };
      return seen === undefined ? {} : { seen: cleanObservation(seen) };
    },
    observe: async (order, call) =>
      cleanObservation(await bounded(() => driver.observe(order, call && boundCall(call)))),
  };
}

function boundLog(readLog: ReadDriverLog): ReadDriverLog {
  return (source, call) => boundTail((asked) => readLog(source, asked))(call);
}

function boundTail(readLog: FailedContainer["readLog"]): FailedContainer["readLog"] {
  return async (call) => {
    const tail = await bounded(() => readLog(call));
    if (tail.absent !== undefined) return { absent: cleanReason(tail.absent) };
    const text = cleanLog(tail.text, call);
    return tail.note === undefined ? { text } : { text, note: cleanReason(tail.note) };
  };
}

function boundCall({ beforeRemoval, ...call }: DriverCall): DriverCall {
  if (beforeRemoval === undefined) return call;
  const told = ({ reason, readLog }: FailedContainer) =>
    beforeRemoval({ reason: cleanReason(reason), readLog: boundTail(readLog) });
  return { ...call, beforeRemoval: told };
}

/** Cleans error messages too, which may quote the fleet. */
async function bounded<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof UnreachableError) error.message = cleanReason(error.message);
    throw error;
  }
}

/** Refuses dots: in a URL a path segment of dots leads to another path, however it is encoded. */
function isUsable(id: string): boolean {
  return id !== "" && id !== "." && id !== ".." && isClean(id, maxId);
}

function cleanSentinel({ running_image, ...listed }: ListedSentinel): ListedSentinel {
  return {
    ...listed,
    region: cleanText(listed.region, maxRegion),
    image: cleanImage(listed.image),
    ...runningOf(running_image),
  };
}

/** Empty means that nothing runs; a name that cannot be used is not known. */
function runningOf(given: string | undefined): { running_image?: string } {
  const isUsable = given !== undefined && (given === "" || cleanImage(given) !== "");
  return isUsable ? { running_image: given } : {};
}

/** A rollback orders the listed image: a name that had to be changed would be another image's. */
function cleanImage(image: string): string {
  return isClean(image, maxImage) ? image : "";
}

function cleanObservation({
  running_image,
  reason,
  ...seen
}: SentinelObservation): SentinelObservation {
  return {
    ...seen,
    ...runningOf(running_image),
    ...(reason !== undefined && { reason: cleanReason(reason) }),
  };
}

function cleanReason(reason: string): string {
  return cleanWords(reason, maxReason);
}

/** Such an id cannot be stored, or not be distinguished from another, so the sentinel is left out. */
function warnOfLeftOut(odd: readonly ListedSentinel[], log: Log): void {
  const named = odd.slice(0, namedAtMost).map(({ id }) => cleanText(id, 60));
  log.error({ count: odd.length, named }, "sentinels left out: their ids cannot be used");
}
