/** Schemas of the rows: alert sources and alert routes. */
import { z } from "zod";
import { environments } from "#alerts/contract.ts";

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

/** An alert that any of the sources lets through is escalated and posted. */
export const AlertRoute = z.strictObject({
  /** A name without blanks around it, which the incident service would take off. */
  name: z.string().trim().min(1, "is empty"),
  sources: listOfMost(RouteSource),
  /** The name of an escalation path; null: nobody is paged. */
  escalation: z.string().nullable(),
  /** A chat channel, with its `#`. */
  channel: z.string(),
});
export type AlertRoute = z.infer<typeof AlertRoute>;

export type RoutingRows = { sources: readonly AlertSource[]; routes: readonly AlertRoute[] };
