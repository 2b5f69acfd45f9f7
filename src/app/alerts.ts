/** Wires the delivery of alert events. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import { createAlertDelivery } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import type { Config } from "#config.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import type { ConsoleLinks } from "./console-links.ts";
import type { Results } from "./results.ts";

type AlertParts = {
  config: Config;
  database: Database;
  registry: Registry;
  readActor: ReadActor;
  results: Results;
  links: Pick<ConsoleLinks, "toCheck">;
};

const dayMs = 24 * 60 * 60_000;

export function createAlerts(parts: AlertParts): EndpointOptions["services"] {
  const { config, database, registry, readActor, results } = parts;
  const { alerts, incident } = config;
  return createAlertDelivery({
    sourceOf: createSourceOf(incident.url, alerts),
    linkTo: parts.links.toCheck,
    attemptTimeoutMs: alerts.attempt_timeout_seconds * 1_000,
    giveUpAfterMs: alerts.give_up_after_days * dayMs,
    keepDays: alerts.keep_days,
    database,
    noteAccepted: results.recorder.delivered,
    registry,
    readActor,
  });
}
