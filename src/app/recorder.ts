/** Wires the recorder of analytics in one thread of the API. */
import path from "node:path";
import type { Engine } from "#api/analytics/engine/engine.ts";
import { countAnalytics } from "#api/analytics/metrics.ts";
import { Journal } from "#api/analytics/recording/journal.ts";
import type { Outbox } from "#api/analytics/recording/outbox.ts";
import { type AnalyticsRecorder, createRecorder } from "#api/analytics/recording/recorder.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

export type Recorder = Pick<AnalyticsRecorder, "verification" | "ratelimit">;

export const nothingRecorded: Recorder = { verification: () => {}, ratelimit: () => {} };

export function spoolDir(dataDir: string): string {
  return path.join(dataDir, "analytics-spool");
}

type RecorderParts = { outbox: Outbox; state: Engine["state"]; stops: Stops };

/** The recorder of one thread, with its metrics. */
export function startRecorder(
  { dataDir, log, registry }: Base,
  { outbox, state, stops }: RecorderParts,
): Recorder {
  const journal = new Journal({ dir: spoolDir(dataDir), log });
  const recorder = createRecorder({ outbox, journal, log });
  stops.add("analytics recorder", () => recorder.close());
  countAnalytics({ counters: () => recorder.counters(), state }, registry);
  // Rows are recorded while the store may still become available.
  const isRecorded = () => state() !== "absent";
  return {
    verification: (row) => (isRecorded() ? recorder.verification(row) : undefined),
    ratelimit: (row) => (isRecorded() ? recorder.ratelimit(row) : undefined),
  };
}
