/** Finds routes by id and by name, and retries writes. */
import type { FoundRoute, Service } from "./service.ts";
import { type Attempt, retry, type Tools } from "./steps.ts";
import type { Reply } from "./transport.ts";

/** `id`: planned; `oursId`: created or adopted, perhaps gone; `others`: planned for others, perhaps of this name. */
export type RouteQuery = {
  name: string;
  id?: string | null;
  oursId?: string | null;
  others?: readonly string[];
};

/** Finds a route by id if one is planned, else ours, else by name. Fails when several have the name: it never guesses. */
export async function findRoute(
  service: Service,
  { name, id = null, oursId = null, others = [] }: RouteQuery,
): Promise<Attempt<FoundRoute | null>> {
  if (id !== null) return service.readRoute(id);
  const isElsewhere = oursId === null || others.includes(oursId);
  const ours = isElsewhere ? undefined : await service.readRoute(oursId);
  if (ours !== undefined && (ours.kind !== "done" || ours.value !== null)) return ours;
  const named = await readNamed(service, name);
  if (named.kind !== "done") return named;
  const namesakes = named.value.filter((found) => !others.includes(found.id));
  const [only = null] = namesakes;
  if (namesakes.length < 2) return { kind: "done", value: only };
  const ids = namesakes.map((found) => found.id).join(", ");
  const reason = `there are ${namesakes.length} routes of this name: ${ids}; keep one`;
  return { kind: "failed", reason };
}

const maxNamesakes = 20;

/** The routes that have the name now. Each is read by id, because the list lags behind. */
async function readNamed(service: Service, wanted: string): Promise<Attempt<FoundRoute[]>> {
  const list = await service.listRoutes();
  if (list.kind !== "done") return list;
  const listed = list.value.filter(({ name }) => name === wanted).slice(0, maxNamesakes);
  const found: FoundRoute[] = [];
  for (const { id } of listed) {
    const route = await service.readRoute(id);
    if (route.kind !== "done") return route;
    if (route.value?.content["name"] === wanted) found.push(route.value);
  }
  return { kind: "done", value: found };
}

/** Retries while the service is rate limiting (429): it has not carried out those requests. */
export async function retryWrite(
  tools: Tools,
  attempt: () => Promise<Attempt<Reply>>,
): Promise<Reply> {
  const reply = await retry(tools, attempt);
  return reply.kind === "done"
    ? reply.value
    : { kind: "refused", status: 429, reason: reply.reason };
}

export function retryWriteStep(
  tools: Tools,
  name: string,
  send: () => Promise<Reply>,
): Promise<Reply> {
  return retryWrite(tools, () => tools.steps.run(name, async () => toAttempt(await send())));
}

export function toAttempt(reply: Reply): Attempt<Reply> {
  return reply.kind === "later" ? reply : { kind: "done", value: reply };
}
