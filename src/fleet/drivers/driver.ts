/** What a rollout asks of whatever runs the sentinels. */

/** A sentinel as its fleet lists it. `running_image` is absent where a fleet knows only one image. */
export type ListedSentinel = {
  id: string;
  region: string;
  image: string;
  running_image?: string | undefined;
  healthy: boolean;
};

/** What a sentinel does now. `reason` is a reason code, mostly with `": "` and a sentence. */
export type SentinelObservation = {
  status: "progressing" | "ready" | "failed";
  running_image?: string | undefined;
  reason?: string | undefined;
  /** Only with `failed`: the fleet's API let us do nothing, which says nothing of the sentinel. */
  isOfApi?: boolean | undefined;
  /** Whether the fleet is at this order, or was; undefined: it cannot be told. */
  isOrdered?: boolean | undefined;
  /** The fleet does not say of whose deploy it speaks: it may be one before, of the same image. */
  mayBeOfEarlier?: boolean | undefined;
  /** The fleet says that another image serves: whoever pushes "ready" is not believed. */
  deniesReady?: boolean | undefined;
};

export type DeployOrder = {
  sentinelId: string;
  image: string;
  /** The same for every repetition of one deploy: the driver does it once. */
  deployId: string;
};

/** What a driver keeps to while it calls. */
export type DriverCall = {
  /** Ends the call. */
  signal?: AbortSignal;
  /** Asked at the last moment before an order leaves: when it is not, `UnwantedError`. */
  isWanted?: () => boolean;
};

export type ApplyResult = { failure?: string; isOfApi?: boolean };

export type Driver = {
  /** Every sentinel. Ends early, with any error, once the signal is aborted. */
  list: (signal?: AbortSignal) => Promise<ListedSentinel[]>;
  /**
   * Starts to replace the image; short, and changes nothing when repeated. Answers a failure that
   * no repetition would mend; `isOfApi` as in an `Observation`. Throws `UnreachableError` for trouble that may pass.
   */
  apply: (order: DeployOrder, call?: DriverCall) => Promise<ApplyResult>;
  /** How the replacement by `image` goes. Throws `UnreachableError` for trouble that may pass. */
  observe: (order: DeployOrder, call?: DriverCall) => Promise<SentinelObservation>;
  start: () => Promise<void>;
  stop: () => Promise<void>;
};

/** The fleet did not answer, or not sensibly; it may the next time. The message begins with a reason code. */
export class UnreachableError extends Error {}

/** The order did not leave: at the last moment it was no longer wanted. */
export class UnwantedError extends Error {}
