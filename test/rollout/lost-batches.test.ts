/** Batches that were killed: which of their deploys, which were killed too, are abandoned. */
import type { ObjectContext } from "@restatedev/restate-sdk";
import { expect, it } from "vitest";
import { closeLostBatches } from "#rollout/handlers/batches.ts";
import type { SavedRollout } from "#rollout/handlers/superseded.ts";
import { emptyOutcome } from "#rollout/rules/outcome.ts";
import { buildBatch, buildHead, imageV1, imageV2 } from "../support/rollout/rollout-builders.ts";

/** Whose deploys are said to be over: the sentinel and the image. */
async function abandonedBy(state: "in_progress" | "rolling_back", marks: string) {
  const told: string[] = [];
  const sendClient = (_: unknown, id: string) => ({
    Abandon: ({ image }: { image: string }) => void told.push(`${id} ${image}`),
  });
  const batch = buildBatch(["a", "b"]);
  const rollout = {
    head: buildHead({
      state,
      openBatches: { 0: { invocation: "inv", inFlight: 2, run: "inv_1" } },
    }),
    isCurrent: true,
    batch: async () => batch,
    outcome: async () => ({ ...emptyOutcome(batch), open: true, marks }),
    writeOutcome: () => {},
  };
  const ctx = { sendClient } as unknown as ObjectContext;
  await closeLostBatches(ctx, rollout as unknown as SavedRollout, ["0"]);
  return told;
}

it("a rollout's are of the new image, where there is no result", async () => {
  expect(await abandonedBy("in_progress", "s.")).toEqual([`b ${imageV2}`]);
});

it("a rollback's are of the images before", async () => {
  expect(await abandonedBy("rolling_back", "ss")).toEqual([`a ${imageV1}`, `b ${imageV1}`]);
});
