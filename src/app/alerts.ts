/** Wires the delivery of alert events. */
import type { EndpointOptions } from "@restatedev/restate-sdk";
import type { Registry } from "prom-client";
import { createSendToChannel } from "#alerts/channels/send.ts";
import type { Topic } from "#alerts/contract.ts";
import { createAlertDelivery } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import type { Config } from "#config.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { createReach, type OwnService } from "#kernel/reach.ts";
import { createReadSecret } from "#kernel/secrets.ts";
import { drillObject } from "#monitor/drills/internal.ts";
import type { ConsoleLinks } from "./console-links.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { fleetsOf } from "./fleets.ts";
import { closedBy } from "./own-services.ts";
import type { Results } from "./results.ts";

type AlertParts = {
  config: Config;
  services: readonly OwnService[];
  database: Database;
  registry: Registry;
  readActor: ReadActor;
  results: Results;
  links: Pick<ConsoleLinks, "to">;
  definitions: Pick<ProgramDefinitions, "readChannels">;
};

const dayMs = 24 * 60 * 60_000;

export function createAlerts(parts: AlertParts): EndpointOptions["services"] {
  const { config, services, database, registry, readActor, results } = parts;
  const { alerts, incident } = config;
  const attemptTimeoutMs = alerts.attempt_timeout_seconds * 1_000;
  return createAlertDelivery({
    sourceOf: createSourceOf(incident.url, alerts),
    linkTo: parts.links.to,
    attemptTimeoutMs,
    send: createSendToChannel({
      // The known keys of our own API are none of them: channels belong to others.
      readSecret: createReadSecret({}, config.definitions.secrets_dir),
      timeoutMs: attemptTimeoutMs,
      nowMs: Date.now,
      slackSpacingMs: config.slack.message_spacing_ms,
      reach: createReach({ services, closed: closedBy(config.monitor) }),
    }),
    webhookUrlOf: createWebhookUrlOf(config),
    readChannels: parts.definitions.readChannels,
    giveUpAfterMs: alerts.give_up_after_days * dayMs,
    keepDays: alerts.keep_days,
    database,
    noteAccepted: results.recorder.delivered,
    tellDrill: (ctx, news) => ctx.sendClient(drillObject, news.drill).noted(news),
    registry,
    readActor,
  });
}

function createWebhookUrlOf(config: Config): (topicKey: string) => string {
  const fleets = fleetsOf(config);
  return (topicKey) => {
    const [topic, fleet] = topicKey.split("/");
    const found = fleets.find(({ name }) => name === fleet);
    return found?.webhookUrl ?? config.slack[`${topic as Topic}_webhook_url`];
  };
}
