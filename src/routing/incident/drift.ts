/** Decides whether routes have drifted from their rows, and composes the messages about it. */
import type { Notice } from "#alerts/contract.ts";
import type { DriftReport, OwnedRoute, Plan } from "#routing/incident/contract.ts";
import { isInStep } from "./overlay.ts";
import type { PlanOutcome } from "./plan.ts";

/** Most changes of one route that are reported: with more it is simply another route. */
const maxChanges = 50;

type Report = Omit<DriftReport, "checked_at">;

export function evaluateDrift(
  planned: PlanOutcome,
  owned: Readonly<Record<string, OwnedRoute>>,
): Report {
  if ("faults" in planned) return reportFaults(planned);
  const routes = planned.plan.routes.flatMap((route) => {
    if (route.action === "none") return [];
    const why = evaluateRoute(route, owned[route.name]);
    const changes = route.base === null ? undefined : route.changes.slice(0, maxChanges);
    return [{ name: route.name, why, ...(changes !== undefined && { changes }) }];
  });
  const { doubled } = planned.plan;
  const isInStep = routes.length + doubled.length === 0;
  return { state: isInStep ? "in_step" : "drifted", routes, doubled };
}

/** Two routes of one name are drift, even when the rest cannot be compared. */
function reportFaults({ faults, doubled }: Extract<PlanOutcome, { faults: string[] }>): Report {
  const unknown = { ...unknownDrift(faults.join("; ")), doubled };
  return doubled.length === 0 ? unknown : { ...unknown, state: "drifted" };
}

export function unknownDrift(reason: string): Report {
  return { state: "unknown", routes: [], doubled: [], reason };
}

function evaluateRoute(
  { base, aliases }: Plan["routes"][number],
  owned: OwnedRoute | undefined,
): DriftReport["routes"][number]["why"] {
  if (owned === undefined) return "not_applied";
  if (base === null) return "deleted";
  return isInStep(base.content, owned.declared, aliases) ? "not_applied" : "changed";
}

/** The state that was last announced; an unknown state is not announced. */
export type AnnouncedState = "in_step" | "drifted";

/** One message when drift appears, and one when it ends; undefined: nothing to announce. */
export function announceDrift(
  announced: AnnouncedState,
  report: DriftReport,
  id: string,
): Notice | undefined {
  const { state, routes, doubled, checked_at } = report;
  if (state === "unknown" || state === announced) return undefined;
  const fields = [{ name: "Checked at", value: checked_at }];
  if (state === "in_step") {
    const title = "Alert routes are in step again";
    return { id, title, tone: "success", lines: [], fields };
  }
  return {
    id,
    title: "Alert routes differ from their rows",
    tone: "warning",
    lines: [
      [
        ...routes.map(({ name, why }) => `${name}: ${reasons[why]}`),
        ...doubled.map(({ advice }) => advice),
      ].join("\n"),
      "vedette alerts plan shows what differs.",
    ],
    fields,
  };
}

const reasons = {
  changed: "changed at the incident service",
  deleted: "deleted at the incident service",
  not_applied: "its row is not applied yet",
} as const satisfies Record<DriftReport["routes"][number]["why"], string>;
