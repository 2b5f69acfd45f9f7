/** The row of a drill. */
import { z } from "zod";
import { findCronFault } from "#kernel/cron-times.ts";
import { text } from "#monitor/kinds/contract.ts";
import { CronDialect, Environment, Id, Name } from "./fields.ts";

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
