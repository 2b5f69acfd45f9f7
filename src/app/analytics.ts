/** Wires analytics: what is recorded, where it waits, and the store that it is read from. */
import path from "node:path";
import { openEngine } from "#api/analytics/engine.ts";
import { countAnalytics } from "#api/analytics/metrics.ts";
import type { AnalyticsParts } from "#api/analytics/procedures.ts";
import { createRecorder, type Recorder } from "#api/analytics/recorder.ts";
import { retentionFrom } from "#api/analytics/retention.ts";
import { openSpool } from "#api/analytics/spool.ts";
import type { Base, Stop } from "./base.ts";

export type Analytics = {
  recorder: Pick<Recorder, "verification" | "ratelimit">;
  reading: AnalyticsParts["analytics"];
};

const off: Analytics = {
  recorder: { verification: () => {}, ratelimit: () => {} },
  reading: undefined,
};

const megabyte = 1024 * 1024;

/** Of a process that serves no API there is nothing but an external store to read from. */
export async function startAnalytics(
  base: Base,
  { servesApi, stops }: { servesApi: boolean; stops: Stop[] },
): Promise<Analytics> {
  const { config, dataDir, log, registry } = base;
  const { enabled, retention_days, spool_megabytes } = config.analytics;
  const { url } = config.clickhouse;
  if (!enabled || (url === "" && !servesApi)) return off;
  const retention = retentionFrom(retention_days);
  const engine = openEngine({ url, isEmbedded: true, dataDir, retention, log });
  stops.push(() => engine.close());
  const spool = await openSpool({
    dir: path.join(dataDir, "analytics-spool"),
    maxBytes: spool_megabytes * megabyte,
  });
  const insert = engine.insert.bind(engine);
  const recorder = createRecorder({ spool, insert, log });
  stops.push(() => recorder.close());
  countAnalytics({ counters: () => recorder.counters(), state: () => engine.state() }, registry);
  // Without a store, and without hope of one, nothing is gathered for it.
  const isKept = () => engine.state() !== "absent";
  return {
    recorder: {
      verification: (row) => isKept() && recorder.verification(row),
      ratelimit: (row) => isKept() && recorder.ratelimit(row),
    },
    reading: { store: engine, retention },
  };
}
