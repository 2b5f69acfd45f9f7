/** The definition of a heartbeat, as its object holds it. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { DirectChannel } from "#alerts/rows/contract.ts";
import { related } from "#monitor/related.ts";

/** Pings are expected at these times. */
const CronSchedule = z.strictObject({
  /** Five fields, or `@daily` and the like; `src/kernel/cron-times.ts` finds its times. */
  cron: z.string(),
  timezone: z.string(),
  /** Whose rules the expression follows. Absent: those of Debian's cron. */
  dialect: z.literal("kubernetes").optional(),
  /** How long before its time a ping counts for it. Absent: 60 s, or a quarter of the gap before it. */
  earlySeconds: z.int().optional(),
});
export type CronSchedule = z.infer<typeof CronSchedule>;

/** What a drill tests: a test alert goes to these channels, which have to accept it within the grace. */
const Drill = z.strictObject({
  /** The heartbeat has a little longer. */
  graceSeconds: z.int(),
  /** The environment whose alert source at the incident service is tested; null: none is. */
  channel: z.enum(environments).nullable(),
  /** Further channels; absent: none. */
  directChannels: z.array(DirectChannel).optional(),
});
export type Drill = z.infer<typeof Drill>;

export const Heartbeat = z.strictObject({
  id: z.string(),
  name: z.string(),
  environment: z.enum(environments),
  /** A description of the job that pings. */
  watches: z.string(),
  /** From one ping to the next. Absent: there is a `schedule`. */
  periodSeconds: z.int().optional(),
  /** Absent: there is a `periodSeconds`. */
  schedule: CronSchedule.optional(),
  graceSeconds: z.int(),
  /** Only of a drill, which pings by itself when its test alert was confirmed. */
  drill: Drill.optional(),
  /** The timed job of this program that pings it. Absent: others ping it, by its URL. */
  job: z.string().optional(),
  /** The settings without which that job is off. Absent: the job is on, or there is none. */
  missingSettings: z.array(z.string()).optional(),
  ...related,
});
export type Heartbeat = z.infer<typeof Heartbeat>;
