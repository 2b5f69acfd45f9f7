/** Finds a route and writes it, and tells what is known of it then. */
import type { ApplyTools } from "./apply-route.ts";
import type { Next } from "./decide.ts";
import { type Found, readWritten, type Service } from "./service.ts";
import { type Attempt, persist, type Tools } from "./steps.ts";
import type { Reply } from "./transport.ts";

export type Written =
  | { kind: "done"; found: Found; reason: string }
  /** `version` is that which the write was made for; null: of none, it was to be created. */
  | { kind: "refused" | "unsure"; version: number | null; status?: number; reason: string };

/** A conflict has no status of its own: a refusal counts when nothing has moved (reference, V2). */
export function isFinal(last: Written, found: Found | null): boolean {
  if (last.kind !== "refused") return false;
  if ((found?.version ?? null) !== last.version) return false;
  // With these two a service that is busy with another write may also refuse.
  return last.status !== 409 && last.status !== 412;
}

export async function writeRoute(
  next: Exclude<Next, { kind: "end" }>,
  name: string,
  tools: ApplyTools,
): Promise<Written> {
  const { service } = tools;
  const version = next.kind === "create" ? null : next.found.version;
  const reply = await persistWrite(tools, `${next.kind}-route`, async () => {
    if (next.kind === "update") return service.updateRoute(next.found, next.content);
    // A step that was carried out and not kept is carried out again: then it is there already.
    const there = await findRoute(service, { name });
    if (there.kind === "later") return there;
    if (there.kind === "failed") return { kind: "lost", reason: there.reason };
    if (there.value !== null) return { kind: "lost", reason: "it is there already" };
    return service.createRoute(next.content);
  });
  return toWritten(reply, version);
}

function toWritten(reply: Reply, version: number | null): Written {
  if (reply.kind === "done") {
    const found = readWritten(reply.body);
    const reason = "the incident service answered something else";
    return found === undefined
      ? { kind: "unsure", version, reason }
      : { kind: "done", found, reason };
  }
  const { reason } = reply;
  if (reply.kind !== "refused") return { kind: "unsure", version, reason };
  return { kind: "refused", version, status: reply.status, reason };
}

/** Waits while the service asks for it: until then it has done nothing. */
export async function persistWrite(
  tools: Tools,
  name: string,
  send: () => Promise<Reply>,
): Promise<Reply> {
  const reply = await persist(tools, name, async (): Promise<Attempt<Reply>> => {
    const answer = await send();
    return answer.kind === "later" ? answer : { kind: "done", value: answer };
  });
  return reply.kind === "done"
    ? reply.value
    : { kind: "refused", status: 429, reason: reply.reason };
}

/** `id`: as planned; `oursId`: of one that we made or adopted, which may be gone. */
export type Wanted = { name: string; id?: string | null; oursId?: string | null };

/** By id where one is planned; else ours, else by name. Several of one name are never guessed about. */
export async function findRoute(
  service: Service,
  { name, id = null, oursId = null }: Wanted,
): Promise<Attempt<Found | null>> {
  if (id !== null) return service.readRoute(id);
  const ours = oursId === null ? undefined : await service.readRoute(oursId);
  if (ours !== undefined && (ours.kind !== "done" || ours.value !== null)) return ours;
  const list = await service.listRoutes();
  if (list.kind !== "done") return list;
  const namesakes = list.value.filter((listed) => listed.name === name);
  const [only] = namesakes;
  if (only === undefined) return { kind: "done", value: null };
  if (namesakes.length === 1) return service.readRoute(only.id);
  const ids = namesakes.map((listed) => listed.id).join(", ");
  return { kind: "failed", reason: `there are ${namesakes.length} routes of this name: ${ids}` };
}
