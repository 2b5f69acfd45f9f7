/** Wires analytics: the recorder, the spool, and the store that queries read. */
import path from "node:path";
import { openEngine } from "#api/analytics/engine/engine.ts";
import { countAnalytics } from "#api/analytics/metrics.ts";
import type { AnalyticsParts } from "#api/analytics/parts.ts";
import { Journal, recoverJournals } from "#api/analytics/recording/journal.ts";
import { type AnalyticsRecorder, createRecorder } from "#api/analytics/recording/recorder.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import type { Base } from "./base.ts";
import type { Stops } from "./stops.ts";

export type Analytics = {
  recorder: Pick<AnalyticsRecorder, "verification" | "ratelimit">;
  reading: AnalyticsParts["analytics"];
};

const off: Analytics = {
  recorder: { verification: () => {}, ratelimit: () => {} },
  reading: undefined,
};

const megabyte = 1024 * 1024;

/** A process that doesn't serve the API records nothing, and can read an external store only. */
export async function startAnalytics(
  base: Base,
  { servesApi, stops }: { servesApi: boolean; stops: Stops },
): Promise<Analytics> {
  const { config, dataDir, log, registry } = base;
  const { enabled, retention_days, spool_megabytes } = config.analytics;
  const { url } = config.clickhouse;
  if (!enabled || (url === "" && !servesApi)) return off;
  const retention = retentionFrom(retention_days);
  const engine = openEngine({ url, isEmbedded: true, dataDir, retention, log });
  stops.add("analytics store", () => engine.close());
  const dir = path.join(dataDir, "analytics-spool");
  const spool = await openSpool({ dir, maxBytes: spool_megabytes * megabyte });
  await recoverJournals({ dir, log }, spool);
  const insert = engine.insert.bind(engine);
  const recorder = createRecorder({ spool, journal: new Journal({ dir, log }), insert, log });
  stops.add("analytics recorder", () => recorder.close());
  countAnalytics({ counters: () => recorder.counters(), state: () => engine.state() }, registry);
  // Rows are recorded while the store may still become available.
  const isRecorded = () => engine.state() !== "absent";
  return {
    recorder: {
      verification: (row) => (isRecorded() ? recorder.verification(row) : undefined),
      ratelimit: (row) => (isRecorded() ? recorder.ratelimit(row) : undefined),
    },
    reading: { store: engine, retention },
  };
}
