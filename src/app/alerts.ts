/** Wires the delivery of alert events. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import { createAlertDelivery } from "#alerting/events/services.ts";
import { createSourceOf } from "#alerting/events/source.ts";
import type { Config } from "#config.ts";
import type { Database } from "#kernel/database.ts";
import type { Results } from "./results.ts";

type AlertParts = { config: Config; database: Database; registry: Registry; results: Results };

const dayMs = 24 * 60 * 60_000;

export function createAlerts(parts: AlertParts): EndpointOptions["services"] {
  const { config, database, registry, results } = parts;
  const { alerts, incident, control } = config;
  const ownConsole = control.port === 0 ? "" : `http://${control.host}:${control.port}`;
  return createAlertDelivery({
    sourceOf: createSourceOf(incident.url, alerts),
    consoleUrl: alerts.console_url || ownConsole,
    attemptTimeoutMs: alerts.attempt_timeout_seconds * 1_000,
    giveUpAfterMs: alerts.give_up_after_days * dayMs,
    keepDays: alerts.keep_days,
    database,
    noteAccepted: results.recorder.delivered,
    registry,
  });
}
