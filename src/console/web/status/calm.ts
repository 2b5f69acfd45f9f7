/** Describes the health of a fleet on the first page while nothing is known to be down. Pure. */
import { ago } from "#console/web/format.ts";
import type { StatusView } from "#status/contract.ts";

type Status = Pick<StatusView, "fleets" | "wrong" | "taken_at">;

/** While no sentinel is down by the newest list, and no check alerts. */
export function calmWords({ fleets, wrong, taken_at }: Status, name: string): string {
  const { overview } = fleets.find((one) => one.name === name) ?? {};
  const { total = 0, choices = { health: [] } } = overview ?? {};
  if (wrong.some(({ about, fleet }) => about === "fleet_list" && fleet === name)) {
    const at = overview?.list.asked_at ?? null;
    const read = at === null ? "never read" : `last read ${ago(at, Date.parse(taken_at))}`;
    return `Nobody knows now whether customers are hurt: the health of ${total} of ${total} sentinels is not known, ${read}.`;
  }
  const healthy = choices.health.find(({ value }) => value === "healthy")?.count ?? 0;
  return `No customer is hurt as far as is known: ${healthy} of ${total} sentinels are healthy, none is down, and no check alerts.`;
}
