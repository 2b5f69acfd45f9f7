/** Writes a route, and returns what is known about the outcome. */
import type { Content } from "#routing/incident/contract.ts";
import type { Next } from "./decide.ts";
import { type RouteQuery, retryWrite, retryWriteStep, toAttempt } from "./find-route.ts";
import { type FoundRoute, readWritten } from "./service.ts";
import type { ApplyTools } from "./tools.ts";
import type { Reply } from "./transport.ts";

export type WriteOutcome =
  | { kind: "done"; found: FoundRoute; reason: string }
  /** `version`: the one that the write was to replace; null: the route was to be created. */
  | { kind: "refused" | "unsure"; version: number | null; status?: number; reason: string };

/** The service has no status for a conflict: a refusal is final when the route has not changed since. */
export function isFinal(last: WriteOutcome, found: FoundRoute | null): boolean {
  if (last.kind !== "refused") return false;
  if ((found?.version ?? null) !== last.version) return false;
  // The service may also refuse with these two while it is busy with another write.
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
  return toWritten(await retryWriteStep(tools, "update-route", update), found);
}

/** The route that was written. `id` null: it was to be created, and the answer has its id. */
type Target = { id: string | null; version: number | null };

function toWritten(reply: Reply, { id, version }: Target): WriteOutcome {
  if (reply.kind === "done") {
    const found = readWritten(reply.body);
    const reason = "unexpected answer from the incident service";
    return found === undefined || (id !== null && found.id !== id)
      ? { kind: "unsure", version, reason }
      : { kind: "done", found, reason };
  }
  const { reason } = reply;
  if (reply.kind !== "refused") return { kind: "unsure", version, reason };
  return { kind: "refused", version, status: reply.status, reason };
}

type Creation = { wanted: RouteQuery; content: Content; declared: Content };

/** A process that was suspended for longer may have been taken for dead, and replaced by another. */
const freshMs = 5_000;

/**
 * The incident service has no idempotency key and its lists lag behind, so a request with an unknown outcome is never sent
 * again from here. `lost`: the route may exist or not; a list shows which once it has caught up.
 */
async function createRoute(
  { wanted, content, declared }: Creation,
  tools: ApplyTools,
): Promise<Reply> {
  const { service, steps, intend } = tools;
  await intend({ name: wanted.name, declared });
  return retryWrite(tools, async () => {
    const begun = { atMs: Number.NEGATIVE_INFINITY };
    // A replay after a crash does not run this step again, so `begun` stays unset and tells it apart.
    await steps.run("begin-creation", async () => {
      begun.atMs = performance.now();
      return null;
    });
    return steps.run("create-route", async () => {
      if (performance.now() - begun.atMs > freshMs) return toAttempt(interrupted);
      return toAttempt(await service.createRoute(content));
    });
  });
}

const interrupted: Reply = { kind: "lost", reason: "Vedette ended while it created the route" };
