/** The row of a heartbeat. */
import { z } from "zod";
import { Channels, Environment, Id, Name, text } from "./fields.ts";

const maxSpanSeconds = 365 * 86_400;

/** A job that pings. It alerts when it has not pinged for its period and its grace. */
export const HeartbeatRow = z
  .strictObject({
    id: Id,
    name: Name,
    environment: Environment,
    watches: text(500).optional().describe("What the job does. Default: the name."),
    periodSeconds: z.int().min(30).max(maxSpanSeconds).describe("From one ping to the next."),
    graceSeconds: z.int().min(0).max(maxSpanSeconds).describe("How late a ping may be."),
    channels: Channels,
  })
  .transform(({ name, watches, ...row }) => ({
    ...row,
    name: name ?? row.id,
    watches: watches ?? name ?? row.id,
  }));
export type HeartbeatRow = z.output<typeof HeartbeatRow>;
