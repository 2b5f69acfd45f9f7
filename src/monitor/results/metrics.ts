import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { AlertTransition } from "#alerts/contract.ts";
import { inTime } from "#kernel/async.ts";
import { checkStatuses, type Definitions, type ReadDefinitions } from "#monitor/contract.ts";
import { phaseNames } from "#monitor/kinds/observe.ts";
import type { CheckList } from "./contract.ts";
import type { PlainPing, Written } from "./record.ts";
import type { ViewChecks } from "./view.ts";

export type RecordCounters = ReturnType<typeof countRecords>;

/** Counts records; call it once their transaction is committed. */
export function countRecords(registry: Registry, readDefinitions: ReadDefinitions) {
  const counters = createCounters(registry, readDefinitions);
  return {
    written({ newResults, newMissed }: Written): void {
      for (const { checkId: check, location, grade, durationMs, phases } of newResults) {
        counters.runs.inc({ check, location, grade });
        counters.lastSeconds.set({ check, location, phase: "total" }, durationMs / 1_000);
        for (const phase of phaseNames) {
          const ms = phases[phase];
          if (ms !== null) counters.lastSeconds.set({ check, location, phase }, ms / 1_000);
        }
      }
      for (const { checkId: check, ticks } of newMissed) counters.missed.inc({ check }, ticks);
    },

    pings(pings: readonly PlainPing[]): void {
      for (const { checkId: check } of pings) {
        counters.runs.inc({ check, location: "ping", grade: "ok" });
      }
    },

    delivered({ kind, atMs }: AlertTransition, acceptedAtMs: number): void {
      counters.delivery.observe({ kind }, Math.max(0, acceptedAtMs - atMs) / 1_000);
    },
  };
}

function createCounters(registry: Registry, readDefinitions: ReadDefinitions) {
  const unknown = { limitMs: readTimeoutMs, otherwise: { apiChecks: [] } };
  return {
    runs: new Counter({
      name: "vedette_check_runs_total",
      help: "Runs of a check at a location, and pings of a heartbeat, by grade.",
      labelNames: ["check", "location", "grade"],
      registers: [registry],
    }),
    lastSeconds: new Gauge({
      name: "vedette_check_last_duration_seconds",
      help: "How long the last run took, in all and by phase.",
      labelNames: ["check", "location", "phase"],
      registers: [registry],
    }),
    missed: new Counter({
      name: "vedette_check_missed_ticks_total",
      help: "Ticks that were not run, because the monitor was away or too busy.",
      labelNames: ["check"],
      registers: [registry],
      async collect() {
        const { apiChecks } = await inTime<Pick<Definitions, "apiChecks">>(
          readDefinitions,
          unknown,
        );
        // Starts at 0: Prometheus sees no increase of a counter that appears with its first value.
        for (const { id: check } of apiChecks) this.inc({ check }, 0);
      },
    }),
    delivery: new Histogram({
      name: "vedette_check_alert_delivery_seconds",
      help: "From the decision that an alert opens or resolves to its acceptance by the receiver.",
      labelNames: ["kind"],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 86_400],
      registers: [registry],
    }),
  };
}

/** A scrape waits for all metrics: a database that hangs must not cost it the others. */
const readTimeoutMs = 2_000;

/** Read at each scrape. If they cannot be read in time they are absent, which alert rules detect. */
export function exposeChecks(viewChecks: ViewChecks, registry: Registry): void {
  const unknown = { limitMs: readTimeoutMs, otherwise: { checks: [] } };
  const list = async () => (await inTime<Pick<CheckList, "checks">>(viewChecks, unknown)).checks;
  new Gauge({
    name: "vedette_check_state",
    help: "1 for the state that the check is in, 0 for the others.",
    labelNames: ["check", "environment", "kind", "state"],
    registers: [registry],
    async collect() {
      const checks = await list();
      this.reset();
      for (const { id: check, environment, kind, status } of checks) {
        for (const state of checkStatuses) {
          this.set({ check, environment, kind, state }, status === state ? 1 : 0);
        }
      }
    },
  });
  new Gauge({
    name: "vedette_check_alert_open",
    help: "1 while an alert of the check is open: muted or in maintenance it may fail without one.",
    labelNames: ["check", "environment", "kind"],
    registers: [registry],
    async collect() {
      const checks = await list();
      this.reset();
      for (const { id: check, environment, kind, alert } of checks) {
        this.set({ check, environment, kind }, alert === null ? 0 : 1);
      }
    },
  });
  new Gauge({
    name: "vedette_check_suppressed",
    help: "1 while the check fails and alerts nobody, because a check that it depends on fails.",
    labelNames: ["check", "environment", "kind"],
    registers: [registry],
    async collect() {
      const checks = await list();
      this.reset();
      for (const { id: check, environment, kind, suppressed_by: by } of checks) {
        this.set({ check, environment, kind }, by == null ? 0 : 1);
      }
    },
  });
  new Gauge({
    name: "vedette_check_tls_days_left",
    help: "Days until the first of the check's certificates expires.",
    labelNames: ["check"],
    registers: [registry],
    async collect() {
      const checks = await list();
      this.reset();
      for (const { id: check, tls_days_left: days } of checks) {
        if (days !== null) this.set({ check }, days);
      }
    },
  });
}
