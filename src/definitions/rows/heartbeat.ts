import { z } from "zod";
import { cronJobs } from "#cron/contract.ts";
import { findCronFault } from "#kernel/cron-times.ts";
import { text } from "#monitor/kinds/contract.ts";
import { Channels, CronDialect, DependsOn, Environment, Id, Name } from "./fields.ts";

const maxSpanSeconds = 365 * 86_400;

const schedule = {
  periodSeconds: z
    .int()
    .min(30)
    .max(maxSpanSeconds)
    .optional()
    .describe("From one ping to the next; either this or cron."),
  cron: text(200)
    .optional()
    .describe('When the job runs: minute, hour, day, month, weekday, such as "0 3 * * 1-5".'),
  timezone: text(100).optional().describe("Of cron, such as Europe/Berlin. Default: UTC."),
  cronDialect: CronDialect,
  earlySeconds: z
    .int()
    .min(0)
    .max(86_400)
    .optional()
    .describe(
      "How long before its time of cron a ping counts. Default: 60, or a quarter of the gap.",
    ),
};

/** A job that pings. It alerts when it has not pinged for its period and its grace, or by its cron and the grace. */
export const HeartbeatRow = z
  .strictObject({
    id: Id,
    name: Name,
    environment: Environment,
    watches: text(500).optional().describe("What the job does. Default: the name."),
    ...schedule,
    graceSeconds: z.int().min(0).max(maxSpanSeconds).describe("How late a ping may be."),
    job: z
      .enum(cronJobs)
      .optional()
      .describe("The job of Vedette that pings it after each good run. Default: others ping it."),
    dependsOn: DependsOn,
    channels: Channels,
  })
  .superRefine(
    (row, { addIssue }) => {
      for (const { field, message } of findScheduleFaults(row)) {
        addIssue({ code: "custom", path: [field], message });
      }
    },
    // Also beside faults of other fields: all are named at once.
    { when: ({ value }) => z.object(schedule).safeParse(value).success },
  )
  .transform(({ name, watches, ...row }) => ({
    ...row,
    name: name ?? row.id,
    watches: watches ?? name ?? row.id,
  }));
type Schedule = z.output<z.ZodObject<typeof schedule>>;

function findScheduleFaults(row: Schedule): { field: keyof Schedule; message: string }[] {
  const { periodSeconds, cron, timezone, cronDialect: dialect, earlySeconds } = row;
  if (cron === undefined) {
    const onlyCron = { timezone, cronDialect: dialect, earlySeconds };
    const without = Object.entries(onlyCron).filter(([, value]) => value !== undefined);
    const missing = {
      field: "periodSeconds" as const,
      message: "is missing, as is cron: give one",
    };
    return [
      ...(periodSeconds === undefined ? [missing] : []),
      ...without.map(([field]) => ({
        field: field as keyof Schedule,
        message: "belongs to cron, which is missing",
      })),
    ];
  }
  const fault = findCronFault({ expression: cron, timezone: timezone ?? "UTC", dialect });
  const both = {
    field: "cron" as const,
    message: "is there beside periodSeconds: give one of them",
  };
  return [...(periodSeconds === undefined ? [] : [both]), ...(fault === null ? [] : [fault])];
}

export type HeartbeatRow = z.output<typeof HeartbeatRow>;
