/** The interface to the platform that runs the sentinels. */
import { LabelName, type Labels, LabelValue } from "#fleet/contract.ts";
import type { Counters, Snapshot } from "#fleet/counters/counters.ts";

/** A sentinel as its fleet lists it. `running_image` is absent where a fleet knows only one image, and empty where nothing runs. */
export type ListedSentinel = {
  id: string;
  region: string;
  image: string;
  running_image?: string | undefined;
  healthy: boolean;
  labels?: Labels | undefined;
  metrics?: Counters | undefined;
};

const mostLabels = 32;
const mostRead = 1_000;

/** Returns the valid labels, by name, 32 at most: others can't be chosen by, and nothing else depends on them. */
export function boundLabels(given: unknown): Labels {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return {};
  const valid = Object.entries(given)
    .slice(0, mostRead)
    .filter(
      ([name, value]) => LabelName.safeParse(name).success && LabelValue.safeParse(value).success,
    );
  return Object.fromEntries(valid.toSorted(([a], [b]) => (a < b ? -1 : 1)).slice(0, mostLabels));
}

/** The present state of a sentinel's deploy. `reason`: a code, mostly with `": "` and a sentence. */
export type SentinelObservation = {
  status: "progressing" | "ready" | "failed";
  /** Empty: nothing runs. Absent: not known. */
  running_image?: string | undefined;
  /** True if it serves now, with whichever image; undefined: not known. */
  healthy?: boolean | undefined;
  reason?: string | undefined;
  /** Only with `failed`: the fleet's API refused access, which says nothing about the sentinel. */
  isOfApi?: boolean | undefined;
  /** True if the fleet has accepted this order; undefined: unknown. */
  isOrdered?: boolean | undefined;
  /** The fleet reports no deploy id: the status may be that of an earlier deploy of an image of this name. */
  mayBeOfEarlier?: boolean | undefined;
  /** The fleet reports that another image serves: a "ready" push is ignored then. */
  deniesReady?: boolean | undefined;
};

export type DeployOrder = {
  sentinelId: string;
  image: string;
  /** The same for every repetition of one deploy, which the driver carries out once. */
  deployId: string;
};

/** `deployId`: what this deploy has started, whether it runs or not; absent: what runs now. */
type LogSource = { sentinelId: string; deployId?: string | undefined };

/** `lines`: more are not wanted. The signal ends the call. */
export type LogCall = { lines: number; signal: AbortSignal };

/** The end of a log, and what it lacks; `absent`: why there is none. */
export type LogTail =
  | { text: string; note?: string | undefined; absent?: undefined }
  | { absent: string };

/** Throws `UnreachableError` when the fleet does not answer. */
export type ReadDriverLog = (source: LogSource, call: LogCall) => Promise<LogTail>;

/** `reason`: of the deploy's failure. `readLog`: as `ReadDriverLog`. */
export type FailedContainer = { reason: string; readLog: (call: LogCall) => Promise<LogTail> };

export type DriverCall = {
  signal?: AbortSignal;
  /** Checked right before an order is sent; if false the driver throws `UnwantedError` instead. */
  isWanted?: () => boolean;
  /** Called before what failed is removed, while its log can be read. Never throws; takes two seconds at most. */
  beforeRemoval?: (failed: FailedContainer) => Promise<void>;
};

/** `seen`: what the fleet has answered to the order already says of this deploy; absent: it has to be asked. */
export type ApplyResult = { failure?: string; isOfApi?: boolean; seen?: SentinelObservation };

export type Driver = {
  /** Every sentinel. Ends early, with any error, once the signal is aborted. */
  list: (signal?: AbortSignal) => Promise<ListedSentinel[]>;
  /** Starts to replace the image; short, idempotent. Returns a permanent failure, throws `UnreachableError` for others. */
  apply: (order: DeployOrder, call?: DriverCall) => Promise<ApplyResult>;
  /** The state of the replacement by `image`. Throws `UnreachableError` for temporary failures. */
  observe: (order: DeployOrder, call?: DriverCall) => Promise<SentinelObservation>;
  /** The last lines of a sentinel's log. Absent: none can be read of any sentinel. */
  readLog?: ReadDriverLog;
  /** The counters of those sentinels that report them. Absent: none does. */
  readCounters?: (signal: AbortSignal) => Promise<Snapshot>;
  /** Resolves once the fleet can be listed. */
  start: () => Promise<void>;
  /** Starts what should run, of a fleet on this machine. Called once at the end; until it resolves `list` may wait. */
  populate?: () => Promise<void>;
  stop: () => Promise<void>;
};

/** The fleet gave no valid answer; a retry may succeed. The message begins with a reason code. */
export class UnreachableError extends Error {}

/** The order was not sent: at the last moment it was no longer wanted. */
export class UnwantedError extends Error {}
