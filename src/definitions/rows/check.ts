import { z } from "zod";
import { type Complain, kindOf, ofAnyKind } from "#monitor/kinds/contract.ts";
import { Channels, DependsOn, Environment, Id, Name } from "./fields.ts";

/** The fields of checks of all kinds. */
const commonFields = {
  id: Id,
  name: Name,
  environment: Environment,
  frequencySeconds: z.int().min(10).max(86_400).default(60).describe("From one run to the next."),
  degradedAboveMs: z
    .int()
    .min(1)
    .max(30_000)
    .optional()
    .describe("A slower answer is degraded. Default: 5 s, or failedAboveMs if that is less."),
  failedAboveMs: z
    .int()
    .min(1)
    .max(30_000)
    .optional()
    .describe(
      "A slower answer is failed. Default: 10 s, or nine tenths of the period if that is less.",
    ),
  failedRunThreshold: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe("Failed runs in a row that open an alert."),
  locations: z
    .array(Id.max(40))
    .min(1)
    .max(100)
    .optional()
    .describe("Ids of `locations`, or locations of the hosted monitor. Default: every location."),
  dependsOn: DependsOn,
  channels: Channels,
};

const CheckFields = ofAnyKind(z.strictObject(commonFields), "row");

export const CheckRow = CheckFields.transform(withDefaults).check(z.superRefine(lintCheck));
export type CheckRow = z.output<typeof CheckRow>;

function withDefaults<Row extends z.output<typeof CheckFields>>(row: Row) {
  const failedAboveMs = row.failedAboveMs ?? Math.min(10_000, row.frequencySeconds * 900);
  const degradedAboveMs = row.degradedAboveMs ?? Math.min(5_000, failedAboveMs);
  return { ...row, name: row.name ?? row.id, degradedAboveMs, failedAboveMs };
}

function lintCheck(row: ReturnType<typeof withDefaults>, context: z.RefinementCtx): void {
  const complain: Complain = (path, message) => context.addIssue({ code: "custom", path, message });
  kindOf(row).lint(row, complain);
  if (row.degradedAboveMs > row.failedAboveMs) {
    complain(["degradedAboveMs"], "must not be above failedAboveMs");
  }
  if (row.failedAboveMs >= row.frequencySeconds * 1_000) {
    complain(["failedAboveMs"], "has to be below frequencySeconds: a run must end before the next");
  }
}
