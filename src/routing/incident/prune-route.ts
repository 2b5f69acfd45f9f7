/** What becomes of a route of ours that is no row any more. */
import { backoffMs } from "#kernel/backoff.ts";
import type { OwnedRoute } from "#routing/incident/contract.ts";
import { type ApplyStep, failed, mostRounds } from "./apply-route.ts";
import { decidePrune, type PruneNext } from "./decide.ts";
import { persistWrite } from "./find-route.ts";
import { backoff, persist } from "./steps.ts";
import type { ApplyTools } from "./tools.ts";

/** First disables a route of ours that is no row any more; deletes one that it has disabled before. */
export async function pruneRoute(
  { name, owned }: { name: string; owned: OwnedRoute },
  tools: ApplyTools,
): Promise<ApplyStep> {
  const { service } = tools;
  const { id } = owned;
  let reason = "others write it all the time";
  for (let round = 0; round < mostRounds; round += 1) {
    const read = await persist(tools, "read-route", () => service.readRoute(id));
    if (read.kind === "failed") return failed(name, id, read.reason);
    const next = decidePrune(owned, read.value);
    if (next.kind === "end") return toPruned({ name, owned }, next);
    const { found } = next;
    const reply = await persistWrite(tools, `${next.kind}-route`, () =>
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
