/** Finds names that several routes have: each takes the same alerts, so people are notified twice. */
import type { SharedName } from "#routing/incident/contract.ts";
import type { FoundRoute, Reader } from "./service.ts";
import type { Attempt } from "./steps.ts";

/** The name of a row, and the id of the route that is ours; null: none is. */
export type NameOwner = { name: string; ours: string | null };

/** Most ids that are listed: more would not help the person who deletes the surplus routes. */
const maxIds = 20;

/** A disabled route beside ours takes no alerts, and does not count. */
export function findDoubled(
  owners: readonly NameOwner[],
  routes: readonly FoundRoute[],
): SharedName[] {
  return owners.flatMap(({ name, ours }) => {
    const exists = routes.some(({ id }) => id === ours);
    const others = routes.filter(({ id, content }) => {
      const takesAlerts = !exists || content["enabled"] !== false;
      return id !== ours && content["name"] === name && takesAlerts;
    });
    if (others.length < (exists ? 1 : 2)) return [];
    return [toDoubled(name, { ours: exists ? ours : null, others: others.map(({ id }) => id) })];
  });
}

function toDoubled(
  name: string,
  { ours, others }: { ours: string | null; others: string[] },
): SharedName {
  const ids = [...(ours === null ? [] : [ours]), ...others];
  const shown = (list: string[]) => list.slice(0, maxIds).join(", ");
  const advice =
    ours === null
      ? `there are ${ids.length} routes named "${name}" (${shown(ids)}): keep one, and delete the others at the incident service`
      : `${others.length + 1} routes are named "${name}", and each takes the same alerts: ${ours} is ours; disable or delete ${shown(others)} at the incident service`;
  return { name, ids: ids.slice(0, maxIds), ours, advice };
}

/** Reads only routes whose name is in the list more often than for our own route. */
export async function readDoubled(
  owners: readonly NameOwner[],
  reader: Reader,
): Promise<Attempt<SharedName[]>> {
  const list = await reader.listRoutes();
  if (list.kind !== "done") return list;
  const suspects = owners.flatMap(({ name, ours }) => {
    const listed = list.value.filter((one) => one.name === name).map(({ id }) => id);
    const ids = new Set([...(ours === null ? [] : [ours]), ...listed]);
    return ids.size > 1 ? [...ids].slice(0, maxIds) : [];
  });
  const routes: FoundRoute[] = [];
  for (const id of new Set(suspects)) {
    const route = await reader.readRoute(id);
    if (route.kind !== "done") return route;
    if (route.value !== null) routes.push(route.value);
  }
  return { kind: "done", value: findDoubled(owners, routes) };
}
