/**
 * Makes a route. The incident service has no key by which to know a repeated request, and its lists
 * are behind: a request of which it is not known what came of it is never sent again from here.
 */
import type { Content } from "#routing/incident/contract.ts";
import { findRoute, insistWrite, type RouteQuery, toAttempt } from "./find-route.ts";
import type { ApplyTools } from "./tools.ts";
import type { Reply } from "./transport.ts";

export type Creation = { wanted: RouteQuery; content: Content; declared: Content };

/** A process that has stood still for longer may have been taken for dead, and replaced. */
const freshMs = 5_000;

/** `lost`: it may be there, or not; a list that is no longer behind tells. */
export async function createRoute(
  { wanted, content, declared }: Creation,
  tools: ApplyTools,
): Promise<Reply> {
  const { service, steps, intend } = tools;
  if (intend === undefined) return createAtOnce({ wanted, content }, tools);
  await intend({ name: wanted.name, declared });
  return insistWrite(tools, async () => {
    const begun = { atMs: Number.NEGATIVE_INFINITY };
    // Not carried out again when it was kept: whoever begins anew after a crash knows by it.
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

/** In an apply that a version without intents has begun: its steps stay what they were. */
function createAtOnce(
  { wanted, content }: Pick<Creation, "wanted" | "content">,
  tools: ApplyTools,
): Promise<Reply> {
  const { service, steps } = tools;
  return insistWrite(tools, () =>
    steps.run("create-route", async () => {
      const there = await findRoute(service, wanted);
      if (there.kind === "later") return there;
      const reason = there.kind === "failed" ? there.reason : "it is there already";
      if (there.kind === "failed" || there.value !== null)
        return toAttempt({ kind: "lost", reason });
      return toAttempt(await service.createRoute(content));
    }),
  );
}
