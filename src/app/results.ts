/** Wires the storage and the views of check results. */
import type { AcceptedEvent, RecordAccepted } from "#alerts/queue-store.ts";
import type { Database } from "#kernel/database.ts";
import type { ApiCheck, ReadDefinitions } from "#monitor/contract.ts";
import type { WhyOff } from "#monitor/probe/secrets.ts";
import { saveEpisodes } from "#monitor/results/episodes.ts";
import { createReadGate, createReadRuns } from "#monitor/results/gate.ts";
import { countRecords, exposeChecks, type RecordCounters } from "#monitor/results/metrics.ts";
import { createPublicPages, type FindPublicPage } from "#monitor/results/public-pages.ts";
import { createResultReader } from "#monitor/results/read.ts";
import { createCheckReads } from "#monitor/results/service.ts";
import { startUpkeep } from "#monitor/results/upkeep.ts";
import { createFindChecks, createViewChecks, type ViewChecks } from "#monitor/results/view.ts";
import { runsAt } from "#monitor/rules/locations.ts";
import { deleteRemoved } from "#monitor/state/removed.ts";
import type { Base } from "./base.ts";
import { createWhyNobody, createWhyOff } from "./monitor-secrets.ts";

export type Results = {
  readDefinitions: ReadDefinitions;
  whyOff: WhyOff;
  counters: RecordCounters;
  /** Records events that the receiver has accepted, in the caller's transaction. */
  recordAccepted: RecordAccepted;
  countAccepted: (accepted: AcceptedEvent) => void;
  reads: ReturnType<typeof createCheckReads>;
  viewChecks: ViewChecks;
  readGate: ReturnType<typeof createReadGate>;
  readRuns: ReturnType<typeof createReadRuns>;
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
  // Alerts of a check that comes back would have the ids of events that are recorded, or known to a receiver.
  const stateDays = Math.max(30, hour_days, config.alerts.keep_days);
  const days = { resultDays: result_days, minuteDays: result_days, hourDays: hour_days, stateDays };
  const reader = createResultReader(database, { failedAtPercent });
  const common = { database, readDefinitions, reader, failedAtPercent, nowMs };
  const views = { ...common, whyOff, whyNobody: createWhyNobody(config) };
  const viewChecks = createViewChecks(views);
  exposeChecks(viewChecks, registry);
  const counters = countRecords(registry, readDefinitions);
  return {
    readDefinitions,
    whyOff,
    counters,
    async recordAccepted(transaction, events) {
      const records = events.map(({ event, atMs }) => ({ event, deliveredAtMs: atMs }));
      await saveEpisodes(transaction, records);
    },
    countAccepted: ({ event, atMs }) => counters.delivered(event, atMs),
    reads: createCheckReads({ ...common, viewChecks, findChecks: createFindChecks(views) }),
    viewChecks,
    readGate: createReadGate(database, {
      failedAtPercent,
      findOwn: async (wanted) => {
        const { apiChecks } = await readDefinitions();
        const isOwn = (check: ApiCheck) => runsAt(check, config.monitor.location);
        return apiChecks.filter(isOwn).flatMap(({ id }) => (wanted.includes(id) ? id : []));
      },
    }),
    readRuns: createReadRuns(database, { failedAtPercent }),
    findPublicPage: config.monitor.public_status ? createPublicPages(viewChecks) : null,
    startUpkeep: () =>
      startUpkeep({
        database,
        settings: { failedAtPercent, ...days },
        deleteRemoved: (before) => deleteRemoved(database, readDefinitions, before),
        log,
        nowMs,
      }),
  };
}
