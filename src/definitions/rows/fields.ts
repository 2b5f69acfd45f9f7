import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { channelFields } from "#alerts/rows/contract.ts";
import { cronDialects } from "#kernel/cron-expression.ts";
import { findCronFault } from "#kernel/cron-times.ts";
import { text } from "#monitor/kinds/contract.ts";

const slug = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Also the deduplication key of alerts, and part of addresses: so it cannot be any text. */
export const Id = z
  .string()
  .max(100)
  .regex(slug, "has to be lower-case letters, digits and single hyphens, such as shop-checkout")
  .describe("Lower-case letters, digits and single hyphens. Under another id it is another row.");

export const Environment = z
  .enum(environments)
  .default("production")
  .describe("Which alert source and channel may be used.");

export const Channels = z
  .array(Id)
  .max(10)
  .default([])
  .describe(
    "Ids of channels that are notified. None: the failure is shown, and nobody is notified.",
  );

export const Name = text(200).optional().describe("As people see it. Default: the id.");

export const CronDialect = z
  .enum(cronDialects)
  .optional()
  .describe("Whose rules cron follows: those of Debian's cron, the default, or of a CronJob.");

export const DependsOn = z
  .array(Id)
  .max(10)
  .default([])
  .describe("Ids of checks and heartbeats: while one of them fails, a failure here alerts nobody.");

/** The alert source of an environment at the incident service. */
const IncidentRow = z.strictObject({
  id: Id,
  kind: z
    .literal("incident")
    .describe("incident: the alert source of the environment at the incident service."),
  environment: Environment,
  hostedId: z
    .int()
    .min(1)
    .optional()
    .describe("Its number at the hosted monitor, for `vedette checks export checkly`."),
});

/** The row of a channel: where alerts go. */
export const ChannelRow = z.discriminatedUnion("kind", [
  IncidentRow,
  z.strictObject({ id: Id, ...channelFields.slack }),
  z.strictObject({ id: Id, ...channelFields.webhook }),
  z.strictObject({ id: Id, ...channelFields.email }),
  z.strictObject({ id: Id, ...channelFields.pagerduty }),
  z.strictObject({ id: Id, ...channelFields.syslog }),
]);
export type ChannelRow = z.output<typeof ChannelRow>;

// The row of a drill.

const channelIds = z.array(Id).min(1, "is empty: name a channel").max(10);

/** A test alert at times of a cron: it fails, as a heartbeat does, when not every channel has confirmed it. */
export const DrillRow = z
  .strictObject({
    id: Id,
    name: Name,
    environment: Environment,
    cron: text(200).describe(
      'When the test alert is sent: minute, hour, day, month, weekday, such as "0 9 * * 1".',
    ),
    timezone: text(100).optional().describe("Of cron, such as Europe/Berlin. Default: UTC."),
    cronDialect: CronDialect,
    graceSeconds: z
      .int()
      .min(10)
      .max(86_400)
      .default(900)
      .describe("How long the channels have to accept it."),
    channels: channelIds.describe("Ids of the channels that are tested."),
    alert: channelIds
      .optional()
      .describe("Ids of the channels that are notified when the drill fails. Default: channels."),
  })
  .superRefine(({ cron, timezone = "UTC", cronDialect: dialect }, { addIssue }) => {
    const fault = findCronFault({ expression: cron, timezone, dialect });
    if (fault !== null) addIssue({ code: "custom", path: [fault.field], message: fault.message });
  })
  .transform(({ name, ...row }) => ({ ...row, name: name ?? row.id }));
export type DrillRow = z.output<typeof DrillRow>;
