/** The definition of a job, independent of how it is run. */
import type { Notice, Topic } from "#alerts/contract.ts";
import type { Schedule } from "./schedule.ts";

/** An exclusive handler of a virtual object, and the request for it. */
export type CallTarget = { service: string; key: string; handler: string; request: unknown };

export type JobRun = {
  runId: string;
  /** The start of the run, Unix milliseconds: later than its grid point if the program was down then. */
  nowMs: number;
  /**
   * Runs a side effect and journals its result: a run that continues after a crash repeats only the step
   * that had not ended. A step that throws is retried for `retryForMs`.
   */
  step: <T>(name: string, action: () => Promise<T>) => Promise<T>;
  /** Calls a handler of another service, and waits for its answer without a timeout. */
  call: <Answer>(target: CallTarget) => Promise<Answer>;
  /** Reads a value that an earlier run stored with `remember`; null: none. */
  recall: <T>(key: string) => Promise<T | null>;
  remember: <T>(key: string, value: T) => void;
  /** Sends a chat message, in order and at least once; does not wait for the delivery. */
  post: (topic: Topic, message: Notice) => void;
};

export type Job = {
  schedule: Schedule;
  /** The very first run starts at once instead of at the next grid point. */
  runsAtOnce?: true;
  /** The time for which a failing step is retried before the run fails. */
  retryForMs: number;
  /** Does the work and returns a summary of one line. */
  run: (run: JobRun) => Promise<string>;
};
