/** Names that several routes bear: each of these takes the same alerts, and people are told twice. */
import type { SharedName } from "#routing/incident/contract.ts";
import type { FoundRoute, Reader } from "./service.ts";
import type { Attempt } from "./steps.ts";

/** Of a row: its name, and the id of the route that is ours; null: none is. */
export type Bearer = { name: string; ours: string | null };

/** More ids say no more than that somebody has to tidy up. */
const mostIds = 20;

/** One beside ours that is disabled takes nothing, and does not count. */
export function findDoubled(
  bearers: readonly Bearer[],
  routes: readonly FoundRoute[],
): SharedName[] {
  return bearers.flatMap(({ name, ours }) => {
    const isThere = routes.some(({ id }) => id === ours);
    const others = routes.filter(({ id, content }) => {
      const takesAlerts = !isThere || content["enabled"] !== false;
      return id !== ours && content["name"] === name && takesAlerts;
    });
    if (others.length < (isThere ? 1 : 2)) return [];
    return [toDoubled(name, { ours: isThere ? ours : null, others: others.map(({ id }) => id) })];
  });
}

function toDoubled(
  name: string,
  { ours, others }: { ours: string | null; others: string[] },
): SharedName {
  const ids = [...(ours === null ? [] : [ours]), ...others];
  const shown = (list: string[]) => list.slice(0, mostIds).join(", ");
  const advice =
    ours === null
      ? `there are ${ids.length} routes named "${name}" (${shown(ids)}): keep one, and delete the others at the incident service`
      : `${others.length + 1} routes are named "${name}", and each takes the same alerts: ${ours} is ours; disable or delete ${shown(others)} at the incident service`;
  return { name, ids: ids.slice(0, mostIds), ours, advice };
}

/** Looks only at those of which the list has more than ours. */
export async function readDoubled(
  bearers: readonly Bearer[],
  reader: Reader,
): Promise<Attempt<SharedName[]>> {
  const list = await reader.listRoutes();
  if (list.kind !== "done") return list;
  const suspects = bearers.flatMap(({ name, ours }) => {
    const listed = list.value.filter((one) => one.name === name).map(({ id }) => id);
    const ids = new Set([...(ours === null ? [] : [ours]), ...listed]);
    return ids.size > 1 ? [...ids].slice(0, mostIds) : [];
  });
  const routes: FoundRoute[] = [];
  for (const id of new Set(suspects)) {
    const route = await reader.readRoute(id);
    if (route.kind !== "done") return route;
    if (route.value !== null) routes.push(route.value);
  }
  return { kind: "done", value: findDoubled(bearers, routes) };
}
