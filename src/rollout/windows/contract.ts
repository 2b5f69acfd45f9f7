/** Windows: when the waves of rollouts may start, and when they must not. */
import { z } from "zod";
import { FleetName, fleetOrNone } from "#fleet/contract.ts";
import { isTimeZone } from "#kernel/time.ts";
import { instant, Reason, RowId } from "#rollout/values-contract.ts";

export const maxWindows = 50;

/** The order of ISO 8601, whose first day is Monday. */
export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

const TimeOfDay = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { error: "must be a time of day such as 09:30" });

const Instant = instant("2026-12-20T00:00:00Z");

const windowShape = z.strictObject({
  id: RowId,
  fleet: FleetName.optional().meta({
    description: "The fleet for whose rollouts it holds; without it for those of every fleet.",
  }),
  kind: z.enum(["allowed", "freeze"]).meta({
    description:
      "allowed: waves start only in windows of this kind, if there are any. freeze: none starts in it.",
  }),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, { error: 'must be an IANA time zone such as "Europe/Berlin"' })
    .default("UTC"),
  days: z
    .array(z.enum(weekdays))
    .min(1)
    .max(7)
    .refine((days) => new Set(days).size === days.length, { error: "must name each day once" })
    .optional()
    .meta({ description: "Days on which it begins; without it every day." }),
  from: TimeOfDay.optional().meta({ description: "Without from and to the whole day." }),
  to: TimeOfDay.optional().meta({
    description: "Not in the window itself. At or before from: on the next day.",
  }),
  starts: Instant.optional().meta({ description: "Nothing before it belongs to the window." }),
  ends: Instant.optional().meta({ description: "Nothing from then on belongs to the window." }),
  reason: Reason,
});

export const RolloutWindow = windowShape
  .refine(({ from, to }) => (from === undefined) === (to === undefined), {
    error: "from and to are given together, or neither is",
    path: ["from"],
  })
  .refine(({ starts, ends }) => !starts || !ends || Date.parse(starts) < Date.parse(ends), {
    error: "must be after starts",
    path: ["ends"],
  })
  .refine(
    ({ kind, days, from, starts, ends }) => kind === "freeze" || days || from || starts || ends,
    { error: "an allowed window says when: days, from and to, or starts and ends", path: ["days"] },
  )
  .meta({
    title: "Rollout window",
    examples: [
      {
        id: "office-hours",
        kind: "allowed",
        time_zone: "Europe/Berlin",
        days: ["mon", "tue", "wed", "thu"],
        from: "09:00",
        to: "16:00",
        reason: "somebody is there",
      },
    ],
  });
export type RolloutWindow = z.infer<typeof RolloutWindow>;

export const ListedWindow = windowShape.extend({ added_by: z.string(), added_at: z.string() });
export type ListedWindow = z.infer<typeof ListedWindow>;

/** The answer to whether a wave may start now. */
export const Opening = z.object({
  is_open: z.boolean(),
  /** Why not. */
  reason: z.string().optional(),
  /** The next opening, by the windows as they are; absent: not within a year. */
  until: z.string().optional(),
});
export type Opening = z.infer<typeof Opening>;

const ListRequest = z
  .strictObject({
    fleet: fleetOrNone(
      "Only those that hold for this fleet; without it `now` is of the default one.",
    ),
  })
  .meta({ title: "WindowListRequest", examples: [{}, { fleet: "production" }] });
const Removal = z
  .strictObject({ id: RowId, reason: Reason })
  .meta({ title: "WindowRemoval", examples: [{ id: "year-end", reason: "incident 4711" }] });

export const windowsName = "vedette.v1.RolloutWindows";

export const windowHandlers = {
  List: { input: ListRequest, output: z.object({ windows: z.array(ListedWindow), now: Opening }) },
  Add: { input: RolloutWindow, output: ListedWindow },
  Remove: { input: Removal, output: ListedWindow },
} as const;

export type WindowProblemCode = "window_exists" | "too_many_windows" | "unknown_window";
