/** Finds routes by id and by name, and writes until there is an answer. */
import type { FoundRoute, Service } from "./service.ts";
import { type Attempt, insist, type Tools } from "./steps.ts";
import type { Reply } from "./transport.ts";

/**
 * `id`: as planned; `oursId`: of one that we made or adopted, which may be gone; `others`: ids that the
 * plan has for other routes, which may bear the same name.
 */
export type RouteQuery = {
  name: string;
  id?: string | null;
  oursId?: string | null;
  others?: readonly string[];
};

/** By id where one is planned; else ours, else by name. Several of one name are never guessed about. */
export async function findRoute(
  service: Service,
  { name, id = null, oursId = null, others = [] }: RouteQuery,
): Promise<Attempt<FoundRoute | null>> {
  if (id !== null) return service.readRoute(id);
  const isElsewhere = oursId === null || others.includes(oursId);
  const ours = isElsewhere ? undefined : await service.readRoute(oursId);
  if (ours !== undefined && (ours.kind !== "done" || ours.value !== null)) return ours;
  const bearing = await readNamed(service, name);
  if (bearing.kind !== "done") return bearing;
  const namesakes = bearing.value.filter((found) => !others.includes(found.id));
  const [only = null] = namesakes;
  if (namesakes.length < 2) return { kind: "done", value: only };
  const ids = namesakes.map((found) => found.id).join(", ");
  const reason = `there are ${namesakes.length} routes of this name: ${ids}; keep one`;
  return { kind: "failed", reason };
}

/** More are no longer told apart: that there are several is all that counts. */
const mostNamesakes = 20;

/** The routes that bear the name now: a list is behind, so that each is looked up. */
async function readNamed(service: Service, wanted: string): Promise<Attempt<FoundRoute[]>> {
  const list = await service.listRoutes();
  if (list.kind !== "done") return list;
  const listed = list.value.filter(({ name }) => name === wanted).slice(0, mostNamesakes);
  const found: FoundRoute[] = [];
  for (const { id } of listed) {
    const route = await service.readRoute(id);
    if (route.kind !== "done") return route;
    if (route.value?.content["name"] === wanted) found.push(route.value);
  }
  return { kind: "done", value: found };
}

/** Waits while the service asks for it: until then it has done nothing. */
export async function insistWrite(
  tools: Tools,
  attempt: () => Promise<Attempt<Reply>>,
): Promise<Reply> {
  const reply = await insist(tools, attempt);
  return reply.kind === "done"
    ? reply.value
    : { kind: "refused", status: 429, reason: reply.reason };
}

export function persistWrite(
  tools: Tools,
  name: string,
  send: () => Promise<Reply>,
): Promise<Reply> {
  return insistWrite(tools, () => tools.steps.run(name, async () => toAttempt(await send())));
}

export function toAttempt(reply: Reply): Attempt<Reply> {
  return reply.kind === "later" ? reply : { kind: "done", value: reply };
}
