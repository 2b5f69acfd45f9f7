/** Reads everything about alert routes from the incident service. */
import type { Directory } from "./resolve.ts";
import type { FoundRoute, Reader } from "./service.ts";
import { type Attempt, retryStep, type Tools } from "./steps.ts";

export type Survey = { directory: Directory; routes: FoundRoute[] };

type Read<T> = Exclude<Attempt<T>, { kind: "later" }>;

/** The limit of all routes together, as JSON: each is a few KB, and becomes a part of a journal. */
const mostChars = 64 * 1024 * 1024;

/** `known`: ids of routes that the list may not show yet. */
export async function readRoutes(
  reader: Reader,
  tools: Tools,
  known: readonly string[] = [],
): Promise<Read<FoundRoute[]>> {
  const list = await retryStep(tools, "list-routes", reader.listRoutes);
  if (list.kind === "failed") return list;
  const routes: FoundRoute[] = [];
  let chars = 0;
  for (const id of new Set([...list.value.map((listed) => listed.id), ...known])) {
    const route = await retryStep(tools, "read-route", () => reader.readRoute(id));
    if (route.kind === "failed") return route;
    // null: deleted since the list was read.
    if (route.value === null) continue;
    chars += JSON.stringify(route.value.detail).length;
    if (chars > mostChars) return { kind: "failed", reason: "the alert routes exceed 64 MiB" };
    routes.push(route.value);
  }
  return { kind: "done", value: routes };
}

export async function readSurvey(
  reader: Reader,
  tools: Tools,
  known: readonly string[] = [],
): Promise<Read<Survey>> {
  const sources = await retryStep(tools, "list-sources", reader.listSources);
  if (sources.kind === "failed") return sources;
  const attributes = await retryStep(tools, "list-attributes", reader.listAttributes);
  if (attributes.kind === "failed") return attributes;
  const paths = await retryStep(tools, "list-escalation-paths", reader.listEscalationPaths);
  if (paths.kind === "failed") return paths;
  const routes = await readRoutes(reader, tools, known);
  if (routes.kind === "failed") return routes;
  const directory = {
    sources: sources.value,
    attributes: attributes.value,
    escalationPaths: paths.value,
  };
  return { kind: "done", value: { directory, routes: routes.value } };
}
