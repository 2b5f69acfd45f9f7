/** What a job is, free of the machinery that runs it. */
import type { ChatChannelName, ChatMessage } from "#notify/contract.ts";
import type { Schedule } from "./schedule.ts";

/** An exclusive handler of a virtual object, and what it is sent. */
export type CallTarget = { service: string; key: string; handler: string; request: unknown };

/** What a job is given for one run. */
export type JobRun = {
  runId: string;
  /** When the run began, unix milliseconds: later than its grid point when everything was down. */
  nowMs: number;
  /**
   * Does something with an effect. Its result is kept: a run that goes on after a crash does not do
   * it again, except a step that had not ended. A step that throws is repeated for a while.
   */
  step: <T>(name: string, action: () => Promise<T>) => Promise<T>;
  /** Calls a handler of another service, and waits for its answer however long it takes. */
  call: <Answer>(target: CallTarget) => Promise<Answer>;
  /** Kept from run to run. */
  recall: <T>(key: string) => Promise<T | null>;
  remember: <T>(key: string, value: T) => void;
  /** Sends a chat message, in order and at least once; waits for nothing. */
  post: (channel: ChatChannelName, message: ChatMessage) => void;
};

export type Job = {
  schedule: Schedule;
  /** The first run of all comes at once, and not at the next grid point. */
  runsAtOnce?: true;
  /** How long a failing step is repeated before the run has failed. */
  retryForMs: number;
  /** Does the work and answers one line about it. */
  run: (run: JobRun) => Promise<string>;
};
