/** Writes a route, and tells what is known of it then. */
import type { Content } from "#routing/incident/contract.ts";
import { createRoute } from "./create-route.ts";
import type { Next } from "./decide.ts";
import { persistWrite, type RouteQuery } from "./find-route.ts";
import { type FoundRoute, readWritten } from "./service.ts";
import type { ApplyTools } from "./tools.ts";
import type { Reply } from "./transport.ts";

export type WriteOutcome =
  | { kind: "done"; found: FoundRoute; reason: string }
  /** `version` is that which the write was made for; null: of none, it was to be created. */
  | { kind: "refused" | "unsure"; version: number | null; status?: number; reason: string };

/** A conflict has no status of its own: a refusal counts when nothing has moved (reference, V2). */
export function isFinal(last: WriteOutcome, found: FoundRoute | null): boolean {
  if (last.kind !== "refused") return false;
  if ((found?.version ?? null) !== last.version) return false;
  // With these two a service that is busy with another write may also refuse.
  return last.status !== 409 && last.status !== 412;
}

type Write = { next: Exclude<Next, { kind: "end" }>; wanted: RouteQuery; declared: Content };

export async function writeRoute(
  { next, wanted, declared }: Write,
  tools: ApplyTools,
): Promise<WriteOutcome> {
  if (next.kind === "create") {
    const creation = { wanted, content: next.content, declared };
    return toWritten(await createRoute(creation, tools), { id: null, version: null });
  }
  const { found, content } = next;
  const update = () => tools.service.updateRoute(found, content);
  return toWritten(await persistWrite(tools, "update-route", update), found);
}

/** The route that was written; of one that was to be created the answer says the id. */
type Target = { id: string | null; version: number | null };

function toWritten(reply: Reply, { id, version }: Target): WriteOutcome {
  if (reply.kind === "done") {
    const found = readWritten(reply.body);
    const reason = "the incident service answered something else";
    return found === undefined || (id !== null && found.id !== id)
      ? { kind: "unsure", version, reason }
      : { kind: "done", found, reason };
  }
  const { reason } = reply;
  if (reply.kind !== "refused") return { kind: "unsure", version, reason };
  return { kind: "refused", version, status: reply.status, reason };
}
