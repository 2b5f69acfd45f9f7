/** Wires analytics: the recorder, the spool, and the store that queries read. */
import { type Engine, openEngine } from "#api/analytics/engine/engine.ts";
import type { AnalyticsParts } from "#api/analytics/parts.ts";
import { recoverJournals } from "#api/analytics/recording/journal.ts";
import { createOutbox, type Outbox } from "#api/analytics/recording/outbox.ts";
import { openSpool } from "#api/analytics/recording/spool.ts";
import { type Retention, retentionFrom } from "#api/analytics/retention.ts";
import type { Base } from "./base.ts";
import { nothingRecorded, type Recorder, spoolDir, startRecorder } from "./recorder.ts";
import type { Stops } from "./stops.ts";

export type Analytics = {
  recorder: Recorder;
  reading: AnalyticsParts["analytics"];
  /** Shared with further threads of the API, which record to it and read from it; undefined: nothing is recorded. */
  shared: { outbox: Outbox; engine: Engine; retention: Retention } | undefined;
};

const off: Analytics = {
  recorder: nothingRecorded,
  reading: undefined,
  shared: undefined,
};

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
  const engine = openEngine({ url, isEmbedded: true, dataDir, retention, log, onEmbedded });
  stops.add("analytics store", () => engine.close());
  const dir = spoolDir(dataDir);
  const spool = await openSpool({ dir, maxBytes: spool_megabytes * megabyte });
  await recoverJournals({ dir, log }, spool);
  const outbox = createOutbox({ spool, insert: engine.insert.bind(engine), log });
  const recorder = startRecorder(base, { outbox, state: () => engine.state(), stops });
  return {
    recorder,
    reading: { store: engine, retention },
    shared: { outbox, engine, retention },
  };
}
