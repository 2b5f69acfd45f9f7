/** Prunes a route of ours whose row is gone. */
import { backoffMs } from "#kernel/backoff.ts";
import type { OwnedRoute } from "#routing/incident/contract.ts";
import { type ApplyStep, failed, maxRounds } from "./apply-route.ts";
import { decidePrune, type PruneNext } from "./decide.ts";
import { retryWriteStep } from "./find-route.ts";
import { backoff, retryStep } from "./steps.ts";
import type { ApplyTools } from "./tools.ts";

/** Disables the route; deletes it if an earlier prune has disabled it. */
export async function pruneRoute(
  { name, owned }: { name: string; owned: OwnedRoute },
  tools: ApplyTools,
): Promise<ApplyStep> {
  const { service } = tools;
  const { id } = owned;
  let reason = "others keep changing it";
  for (let round = 0; round < maxRounds; round += 1) {
    const read = await retryStep(tools, "read-route", () => service.readRoute(id));
    if (read.kind === "failed") return failed(name, id, read.reason);
    const next = decidePrune(owned, read.value);
    if (next.kind === "end") return toPruned({ name, owned }, next);
    const { found } = next;
    const reply = await retryWriteStep(tools, `${next.kind}-route`, () =>
      next.kind === "delete"
        ? service.deleteRoute(id)
        : service.updateRoute(found, { ...found.content, enabled: false }),
    );
    if (reply.kind === "refused" && ![409, 412, 422].includes(reply.status)) {
      return failed(name, id, reply.reason);
    }
    if (reply.kind !== "done") {
      reason = reply.reason;
      await tools.steps.sleep(backoffMs(round, backoff));
    }
  }
  return failed(name, id, reason);
}

function toPruned(
  { name, owned }: { name: string; owned: OwnedRoute },
  { outcome, message, disabledDigest }: Extract<PruneNext, { kind: "end" }>,
): ApplyStep {
  const result = { name, id: owned.id, outcome, ...(message !== undefined && { message }) };
  if (outcome === "deleted") return { result, owned: null };
  if (disabledDigest === undefined) return { result };
  return { result, owned: { ...owned, disabled_digest: disabledDigest } };
}
