/**
 * Creates a route. The incident service has no idempotency key and its lists lag behind, so a request
 * with an unknown outcome is never sent again from here.
 */
import type { Content } from "#routing/incident/contract.ts";
import { type RouteQuery, retryWrite, toAttempt } from "./find-route.ts";
import type { ApplyTools } from "./tools.ts";
import type { Reply } from "./transport.ts";

export type Creation = { wanted: RouteQuery; content: Content; declared: Content };

/** A process that was suspended for longer may have been taken for dead, and replaced by another. */
const freshMs = 5_000;

/** `lost`: it may exist or not; a list shows which once it has caught up. */
export async function createRoute(
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
