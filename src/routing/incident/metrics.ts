import { Gauge, type Registry } from "prom-client";
import type { DriftReport } from "#routing/incident/contract.ts";

export type ShowDrift = (report: DriftReport) => void;

/** Another process has looked since: what was seen here says nothing any more. */
const looksToForget = 2;

/** `checkEveryMs`: how often drift is looked for, by whichever process it is; 0: it is not. */
export function createShowDrift(registry: Registry, checkEveryMs: number): ShowDrift {
  let seenMs = performance.now();
  const forgetOld = (gauge: Gauge) => {
    const isOld = performance.now() - seenMs > looksToForget * checkEveryMs;
    if (isOld && checkEveryMs > 0) gauge.remove();
  };
  const drifted = new Gauge({
    name: "vedette_alert_routes_drifted",
    help: "Alert routes that differ from their rows, when they were last looked at with success.",
    registers: [registry],
    collect() {
      forgetOld(this);
    },
  });
  const doubledNames = new Gauge({
    name: "vedette_alert_routes_doubled",
    help: "Names of rows that more than one alert route bears, so that people are told twice.",
    registers: [registry],
    collect() {
      forgetOld(this);
    },
  });
  const checkedAt = new Gauge({
    name: "vedette_alert_routes_checked_timestamp_seconds",
    help: "When alert routes were last looked at with success, as far as this process knows.",
    registers: [registry],
  });
  const isUnknown = new Gauge({
    name: "vedette_alert_routes_unknown",
    help: "1: the incident service could not be asked the last time; else 0.",
    registers: [registry],
    collect() {
      forgetOld(this);
    },
  });
  return ({ state, routes, doubled = [], checked_at }) => {
    seenMs = performance.now();
    isUnknown.set(state === "unknown" ? 1 : 0);
    if (state === "unknown") return;
    drifted.set(new Set([...routes, ...doubled].map(({ name }) => name)).size);
    doubledNames.set(doubled.length);
    checkedAt.set(Date.parse(checked_at) / 1_000);
  };
}
