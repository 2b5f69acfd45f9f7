/** Wires the storage and the views of check results. */
import type { Database } from "#kernel/database.ts";
import type { ReadDefinitions } from "#monitor/contract.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import { createReadGate } from "#monitor/results/gate.ts";
import { countRecords, exposeChecks } from "#monitor/results/metrics.ts";
import { createPublicPages, type FindPublicPage } from "#monitor/results/public-pages.ts";
import { createResultReader, type ResultReader } from "#monitor/results/read.ts";
import { createResultWriter, type ResultWriter } from "#monitor/results/record.ts";
import { createCheckReads } from "#monitor/results/service.ts";
import { startUpkeep } from "#monitor/results/upkeep.ts";
import { createViewChecks, type ViewChecks } from "#monitor/results/view.ts";
import type { Base } from "./base.ts";
import { createWhyNobody, createWhyOff } from "./monitor-secrets.ts";

export type Results = {
  readDefinitions: ReadDefinitions;
  whyOff: WhyOff;
  recorder: ResultWriter;
  reads: ReturnType<typeof createCheckReads>;
  /** All checks that were ever watched and may have an open alert, even if no longer defined. */
  readWatched: ResultReader["watched"];
  viewChecks: ViewChecks;
  readGate: ReturnType<typeof createReadGate>;
  /** null: public pages are off. */
  findPublicPage: FindPublicPage | null;
  /** Maintains partitions and the rollups of minutes and hours until it is stopped. */
  startUpkeep: () => { stop: () => Promise<void> };
};

type ResultParts = Pick<Base, "config" | "credentials" | "registry" | "log"> & {
  database: Database;
  readDefinitions: ReadDefinitions;
};

export function createResults(parts: ResultParts): Results {
  const { config, database, registry, log, readDefinitions } = parts;
  const whyOff = createWhyOff(parts);
  const nowMs = Date.now;
  const { failed_at_percent: failedAtPercent, result_days, hour_days } = config.monitor;
  const days = { resultDays: result_days, minuteDays: result_days, hourDays: hour_days };
  const reader = createResultReader(database, { failedAtPercent });
  const common = { database, readDefinitions, reader, failedAtPercent, nowMs };
  const viewChecks = createViewChecks({ ...common, whyOff, whyNobody: createWhyNobody(config) });
  exposeChecks(viewChecks, registry);
  return {
    readDefinitions,
    whyOff,
    recorder: countRecords(
      (countNew) => createResultWriter(database, countNew),
      registry,
      readDefinitions,
    ),
    reads: createCheckReads({ ...common, viewChecks }),
    readWatched: reader.watched,
    viewChecks,
    readGate: createReadGate(database, { failedAtPercent }),
    findPublicPage: config.monitor.public_status ? createPublicPages(viewChecks) : null,
    startUpkeep: () =>
      startUpkeep({ database, settings: { failedAtPercent, ...days }, log, nowMs }),
  };
}
