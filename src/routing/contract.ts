/** Schemas of the rows: alert sources and alert routes. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";
import { isTimeZone } from "#kernel/time.ts";

/** Any name: those that Prometheus and Alertmanager took before UTF-8 ones are not the only ones. */
const LabelName = z.string().min(1, "is empty");

/** Ways in which a source receives alerts; `alertmanager` and `checkly` are also part of its events' URL. */
const sourceKinds = ["alertmanager", "checkly", "email", "http", "status_page_views"] as const;

/** Limited, since zod reports each wrong one. */
const listOfMost = <Item extends z.ZodType>(item: Item) => z.array(item).max(10_000);

/** A source of alerts. Its id at the incident service is looked up by `title`. */
export const AlertSource = z.strictObject({
  name: z.string(),
  /** Its name at the incident service. */
  title: z.string(),
  kind: z.enum(sourceKinds),
  /** null: it belongs to no environment. */
  environment: z.enum(environments).nullable(),
  /** The labels that conditions of routes may name, each with the values in use. */
  labels: z.record(LabelName, listOfMost(z.string())),
});
export type AlertSource = z.infer<typeof AlertSource>;

/** A label that an alert lacks meets `is_not_set` and `none_of`. */
export const Condition = z.discriminatedUnion("operation", [
  z.strictObject({
    label: LabelName,
    operation: z.literal("one_of"),
    values: listOfMost(z.string()).min(1),
  }),
  z.strictObject({
    label: LabelName,
    operation: z.literal("none_of"),
    values: listOfMost(z.string()).min(1),
  }),
  z.strictObject({ label: LabelName, operation: z.literal("is_set") }),
  z.strictObject({ label: LabelName, operation: z.literal("is_not_set") }),
]);
export type Condition = z.infer<typeof Condition>;

const RouteSource = z.strictObject({
  source: z.string(),
  /** All have to match; empty: every alert of the source. */
  conditions: listOfMost(Condition),
});

export const weekdays = [
  ...["monday", "tuesday", "wednesday", "thursday"],
  ...["friday", "saturday", "sunday"],
] as const;

const Clock = z
  .string()
  .regex(/^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/, "has to be a time of day such as 09:00");

/** One that passes midnight is two. */
const ActiveTime = z
  .strictObject({
    weekdays: z.array(z.enum(weekdays)).min(1).max(7).optional().describe("Default: every day."),
    from: Clock.default("00:00"),
    until: Clock.default("24:00").describe("The first minute that is not in it."),
    timezone: z
      .string()
      .max(100)
      .refine(isZoneName, "has to be a time zone such as Europe/Berlin")
      .default("UTC"),
  })
  .refine(({ from, until }) => from < until, {
    path: ["until"],
    message: "has to be later than from: make two of one that passes midnight",
  });
export type ActiveTime = z.infer<typeof ActiveTime>;

/** Alertmanager takes names in their own case alone. */
function isZoneName(name: string): boolean {
  if (!isTimeZone(name)) return false;
  const { timeZone } = new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions();
  return timeZone === name || timeZone.toLowerCase() !== name.toLowerCase();
}

const Inhibition = z.strictObject({
  conditions: listOfMost(Condition).min(1).describe("Of the alert that fires; all have to match."),
  equal: z
    .array(z.string().regex(/^[A-Za-z_]\w*$/, "has to be letters, digits and _"))
    .max(20)
    .default([])
    .describe("Labels that both alerts have alike."),
});

const AlertRef = z
  .union(
    [
      z.string().min(1).max(200),
      z.strictObject({ source: z.string(), labels: z.record(LabelName, z.string()).default({}) }),
    ],
    "has to be the id of a check or heartbeat, or an object with source and labels",
  )
  .describe("The id of a check or heartbeat, or an alert with its source and labels.");
export type AlertRef = z.infer<typeof AlertRef>;

const Instant = z.iso.datetime({ offset: true });

/** The JSON schema has no format for it: editors know different ones. */
function isInstant(text: string): boolean {
  return Instant.safeParse(text).success;
}

const RouteTest = z.strictObject({
  alert: AlertRef,
  at: z
    .string()
    .max(40)
    .refine(isInstant, "has to be a time such as 2027-01-31T03:00:00Z")
    .describe("When it fires: ISO 8601, with an offset or Z."),
  firing: z.array(AlertRef).max(100).default([]).describe("The alerts that fire by then."),
  expect: z
    .array(z.string())
    .max(100)
    .describe("Escalation paths, chat channels, then channels of the check; none: nobody."),
});

/** An alert that any of the sources lets through is escalated and posted. */
export const AlertRoute = z.strictObject({
  /** A name without blanks around it, which the incident service would take off. */
  name: z.string().trim().min(1, "is empty"),
  sources: listOfMost(RouteSource),
  /** The name of an escalation path; null: nobody is paged. */
  escalation: z.string().nullable(),
  /** A chat channel, with its `#`. */
  channel: z.string(),
  activeTimes: z
    .array(ActiveTime)
    .min(1)
    .max(50)
    .optional()
    .describe("When Alertmanager sends its alerts. Default: always."),
  inhibitedBy: z
    .array(Inhibition)
    .min(1)
    .max(50)
    .optional()
    .describe("While such an alert of the same source fires, Alertmanager sends none of its own."),
  tests: z.array(RouteTest).max(200).optional().describe("Run by `vedette config check`."),
});
export type AlertRoute = z.infer<typeof AlertRoute>;

export type RoutingRows = { sources: readonly AlertSource[]; routes: readonly AlertRoute[] };
