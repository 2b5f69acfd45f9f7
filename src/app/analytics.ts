/** Wires analytics: the recorder, the spool, and the store that queries read. */
import path from "node:path";
import { Engine } from "#api/analytics/engine/engine.ts";
import type { EngineQuery } from "#api/analytics/engine/engine-client.ts";
import type { AnalyticsParts } from "#api/analytics/parts.ts";
import { Journal, recoverJournals } from "#api/analytics/recording/journal.ts";
import { createOutbox, type Outbox } from "#api/analytics/recording/outbox.ts";
import { type AnalyticsRecorder, createRecorder } from "#api/analytics/recording/recorder.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { type Retention, retentionFrom } from "#api/analytics/retention.ts";
import { countAnalytics } from "#api/metrics.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

type Recorder = Pick<AnalyticsRecorder, "verification" | "ratelimit">;

/** Wires the recorder of analytics in one thread of the API. */
export const nothingRecorded: Recorder = { verification: () => {}, ratelimit: () => {} };

function spoolDir(dataDir: string): string {
  return path.join(dataDir, "analytics-spool");
}

type RecorderParts = { outbox: Outbox; state: Engine["state"]; stops: Stops };

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

export type Analytics = {
  recorder: Recorder;
  reading: AnalyticsParts["analytics"];
  /** Shared with further threads of the API, which record to it and read from it; undefined: nothing is recorded. */
  shared: { outbox: Outbox; engine: Engine; retention: Retention } | undefined;
};

const off: Analytics = { recorder: nothingRecorded, reading: undefined, shared: undefined };

const megabyte = 1024 * 1024;

/** A process that doesn't serve the API records nothing, and can read an external store only. */
export async function startAnalytics(
  base: Base,
  { servesApi, stops }: { servesApi: boolean; stops: Stops },
): Promise<Analytics> {
  const { config, dataDir, log } = base;
  const { enabled, retention_days, spool_megabytes } = config.analytics;
  const { url } = config.clickhouse;
  if (!enabled || (url === "" && !servesApi)) return off;
  const retention = retentionFrom(retention_days);
  const onEmbedded = (at: string) => base.own("analytics", at);
  const sendWaiting = () => outbox.drain();
  const engine = new Engine({ url, dataDir, retention, log, onEmbedded, sendWaiting });
  stops.add("analytics store", () => engine.close());
  const dir = spoolDir(dataDir);
  const spool = await openSpool({ dir, maxBytes: spool_megabytes * megabyte });
  await recoverJournals({ dir, log }, spool);
  const isResting = () => engine.state() === "resting";
  const outbox = createOutbox({ spool, insert: engine.insert.bind(engine), isResting, log });
  const recorder = startRecorder(base, { outbox, state: () => engine.state(), stops });
  const store = {
    database: engine.database,
    query: (query: EngineQuery) => engine.query(query),
    // Others may write to a ClickHouse.
    ...(url === "" && {
      mayVerifySince: (sinceMs: number) =>
        spool.verifications() > 0 || sinceMs <= spool.verifiedAtMs(),
    }),
  };
  return {
    recorder,
    reading: { store, retention },
    shared: { outbox, engine, retention },
  };
}
