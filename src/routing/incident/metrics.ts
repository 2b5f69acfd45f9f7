import { Gauge, type Registry } from "prom-client";
import type { DriftReport } from "#routing/incident/contract.ts";

export type ShowDrift = (report: DriftReport) => void;

/** After this many intervals without a check here another process checks, and our values are stale. */
const staleAfterChecks = 2;

/** `checkEveryMs`: the interval of drift checks, whichever process makes them; 0: there are none. */
export function createShowDrift(registry: Registry, checkEveryMs: number): ShowDrift {
  let reportedMs = performance.now();
  const removeStale = (gauge: Gauge) => {
    const isStale = performance.now() - reportedMs > staleAfterChecks * checkEveryMs;
    if (isStale && checkEveryMs > 0) gauge.remove();
  };
  const drifted = new Gauge({
    name: "vedette_alert_routes_drifted",
    help: "Alert routes that differ from their rows, at the last successful check.",
    registers: [registry],
    collect() {
      removeStale(this);
    },
  });
  const doubledNames = new Gauge({
    name: "vedette_alert_routes_doubled",
    help: "Names of rows that more than one alert route has, so that people are notified twice.",
    registers: [registry],
    collect() {
      removeStale(this);
    },
  });
  const checkedAt = new Gauge({
    name: "vedette_alert_routes_checked_timestamp_seconds",
    help: "When alert routes were last checked with success, as far as this process knows.",
    registers: [registry],
  });
  const isUnknown = new Gauge({
    name: "vedette_alert_routes_unknown",
    help: "1 when the last check could not read or compare the alert routes, else 0.",
    registers: [registry],
    collect() {
      removeStale(this);
    },
  });
  return ({ state, routes, doubled = [], checked_at }) => {
    reportedMs = performance.now();
    isUnknown.set(state === "unknown" ? 1 : 0);
    if (state === "unknown") return;
    drifted.set(new Set([...routes, ...doubled].map(({ name }) => name)).size);
    doubledNames.set(doubled.length);
    checkedAt.set(Date.parse(checked_at) / 1_000);
  };
}
