/** Wires the delivery of alert events. */
import { createSendToChannel } from "#alerts/channels/send.ts";
import { createSendRecords } from "#alerts/channels/syslog.ts";
import { createAskWebhook } from "#alerts/channels/webhook.ts";
import type { Topic } from "#alerts/contract.ts";
import { createAlertServices, type AlertParts as ServiceParts } from "#alerts/services.ts";
import { createSourceOf } from "#alerts/source.ts";
import type { Config } from "#config.ts";
import { defaultFleet } from "#fleet/contract.ts";
import type { ReadActor } from "#kernel/actor.ts";
import type { Database } from "#kernel/database.ts";
import { patience, sendToRestate } from "#kernel/ingress.ts";
import { createReach } from "#kernel/reach.ts";
import { createReadSecret } from "#kernel/secrets.ts";
import { drillService } from "#monitor/drills/contract.ts";
import { channelEvents } from "#rollout/rules/messages.ts";
import type { Base } from "./base.ts";
import type { OwnBlame } from "./blame.ts";
import type { ConsoleLinks } from "./console-links.ts";
import type { ProgramDefinitions } from "./definitions.ts";
import { fleetsOf } from "./fleets.ts";
import { closedBy } from "./own-services.ts";
import type { Results } from "./results.ts";

type AlertParts = {
  database: Database;
  ownDatabase: Database;
  ingressUrl: string;
  readActor: ReadActor;
  results: Pick<Results, "recordAccepted" | "countAccepted">;
  links: Pick<ConsoleLinks, "to">;
  definitions: Pick<ProgramDefinitions, "readChannels">;
  blame: Pick<OwnBlame, "readExplained">;
};

const dayMs = 24 * 60 * 60_000;

export type Alerts = ReturnType<typeof createAlerts>;

/** The worker serves `services` and starts `delivery`, whose `wake` is called after each commit that enqueued. */
export function createAlerts(
  { config, services, registry, log }: Base,
  { database, ownDatabase, ingressUrl, readActor, results, links, definitions, blame }: AlertParts,
) {
  const { alerts, incident } = config;
  const attemptTimeoutMs = alerts.attempt_timeout_seconds * 1_000;
  // The known keys of our own API are none of them: channels belong to others.
  const readSecret = createReadSecret({}, config.definitions.secrets_dir);
  const { readChannels } = definitions;
  const terms = {
    readSecret,
    timeoutMs: attemptTimeoutMs,
    nowMs: Date.now,
    reach: createReach({ services, closed: closedBy(config.monitor) }),
  };
  const created = createAlertServices({
    sourceOf: createSourceOf(incident.url, alerts),
    linkTo: links.to,
    attemptTimeoutMs,
    send: createSendToChannel({ ...terms, slackSpacingMs: config.slack.message_spacing_ms }),
    ...readTopics(config),
    readChannels,
    giveUpAfterMs: alerts.give_up_after_days * dayMs,
    keepDays: alerts.keep_days,
    database,
    ownDatabase,
    recordAccepted: results.recordAccepted,
    countAccepted: results.countAccepted,
    notifyDrill: (outcome) =>
      sendToRestate(
        { ingressUrl, path: `/${drillService}/${outcome.drill}/noted` },
        outcome,
        patience.caller,
      ),
    readExplained: blame.readExplained,
    registry,
    log,
    readActor,
  });
  return {
    ...created,
    askWebhook: createAskWebhook({ ...terms, readChannels }),
    sendRecords: createSendRecords({ ...terms, readChannels }),
  };
}

function readTopics(config: Config): Pick<ServiceParts, "webhookUrlOf" | "channelsOf"> {
  const fleets = fleetsOf(config);
  const fleetOf = (key: string) =>
    fleets.find(({ name }) => name === (key.split("/")[1] ?? defaultFleet));
  return {
    webhookUrlOf: (key) =>
      (key.includes("/") ? fleetOf(key)?.webhookUrl : undefined) ??
      config.slack[`${key.replace(/\/.*/, "") as Topic}_webhook_url`],
    channelsOf: (key, event = "") =>
      (fleetOf(key)?.rollout.channels ?? []).flatMap(({ channel, events }) => {
        const wanted: readonly string[] = events ?? channelEvents;
        return wanted.includes(event) ? channel : [];
      }),
  };
}
